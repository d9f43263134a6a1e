from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from trainer import architecture
from trainer.parameters import codec_of


@pytest.mark.parametrize("ranks", [1, 2])
def test_shards_put_together_are_the_whole(ranks: int, policy: Path) -> None:
    shape = architecture.read(policy)
    names = ["self_attention.linear_qkv.weight", "mlp.linear_fc1.weight", "mlp.linear_fc2.weight"]
    for name in (f"decoder.layers.0.{n}" for n in names):
        codec = codec_of(name, shape)
        tensors = load_file(policy / "model.safetensors")
        full = codec.join([tensors[part] for part in codec.names])
        assert torch.equal(codec.whole([codec.shard(full, r, ranks) for r in range(ranks)]), full)


def test_each_rank_holds_gate_and_up_rows_of_the_same_units(policy_of: Callable[..., Path]) -> None:
    codec = codec_of("decoder.layers.0.mlp.linear_fc1.weight", architecture.read(policy_of()))
    gate, up = torch.arange(4.0)[:, None], torch.arange(10.0, 14.0)[:, None]
    assert codec.shard(codec.join([gate, up]), 1, 2).flatten().tolist() == [2, 3, 12, 13]
