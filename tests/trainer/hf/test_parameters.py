from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from safetensors.torch import load_file

from trainer.hf import parameters
from trainer.hf.parameters import Codec
from trainer.model import architecture


def shards(codec: Codec, tensors: dict[str, torch.Tensor], ranks: int) -> list[torch.Tensor]:
    """Each rank's, read as it reads them."""
    return [
        codec.shard(
            [tensors[n][region] for n, region in zip(codec.tensors, regions, strict=True)], rank, ranks
        )
        for rank in range(ranks)
        for regions in [codec.regions(rank, ranks)]
    ]


def test_the_names_and_shapes_are_those_of_the_files(policy: Path) -> None:
    tensors = load_file(policy / "model.safetensors")
    expected = parameters.shapes(architecture.read(policy))
    assert expected == {name: tuple(tensor.shape) for name, tensor in tensors.items()}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_shards_put_together_are_the_whole(ranks: int, policy: Path) -> None:
    tensors = load_file(policy / "model.safetensors")
    for name, codec in parameters.codecs(architecture.read(policy)).items():
        found = codec.whole(shards(codec, tensors, ranks))
        assert len(found) == len(codec.tensors)
        for tensor, theirs in zip(found, codec.tensors, strict=True):
            assert torch.equal(tensor, tensors[theirs]), (name, theirs)


def test_each_rank_holds_gate_and_up_rows_of_the_same_units() -> None:
    codec = Codec({"gate": (4, 1), "up": (4, 1)}, dim=0)
    tensors = {"gate": torch.arange(4.0)[:, None], "up": torch.arange(10.0, 14.0)[:, None]}
    assert [shard.flatten().tolist() for shard in shards(codec, tensors, 2)] == [
        [0, 1, 10, 11],
        [2, 3, 12, 13],
    ]


def test_queries_keys_and_values_lie_by_their_groups_and_few_groups_are_cut() -> None:
    codec = Codec({"q": (4,), "k": (2,), "v": (2,)}, dim=0, groups=2)
    tensors = {"q": torch.tensor([0, 1, 2, 3]), "k": torch.tensor([10, 11]), "v": torch.tensor([20, 21])}
    by_ranks = {ranks: [shard.tolist() for shard in shards(codec, tensors, ranks)] for ranks in (1, 2, 4)}
    assert by_ranks == {
        1: [[0, 1, 10, 20, 2, 3, 11, 21]],
        2: [[0, 1, 10, 20], [2, 3, 11, 21]],
        4: [[0, 1], [10, 20], [2, 3], [11, 21]],
    }


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([2, 4, 8]), st.integers(1, 8))
def test_however_many_groups_and_ranks_nothing_is_lost(
    groups: int, queries: int, dim: int, ranks: int
) -> None:
    assume(groups % ranks == 0 or (ranks % groups == 0 and (queries + 2) * dim % (ranks // groups) == 0))
    rows = {"q": groups * queries * dim, "k": groups * dim, "v": groups * dim}
    codec = Codec({name: (size,) for name, size in rows.items()}, dim=0, groups=groups)
    tensors = {name: torch.randn(size) for name, size in rows.items()}
    found = codec.whole(shards(codec, tensors, ranks))
    assert all(torch.equal(one, tensor) for one, tensor in zip(found, tensors.values(), strict=True))


@given(words=st.integers(1, 300), ranks=st.integers(1, 8))
def test_however_many_words_and_ranks_each_word_is_held_once(words: int, ranks: int) -> None:
    codec = Codec({"words": (words, 1)}, dim=0)
    held = shards(codec, {"words": torch.arange(words)[:, None]}, ranks)
    assert torch.cat(held).flatten().tolist() == list(range(words))
    assert all(len(shard) <= -(-words // ranks) for shard in held)


def test_the_last_rank_reads_the_words_that_are_left_and_what_fills_its_share_is_dropped() -> None:
    codec = Codec({"words": (5, 1)}, dim=0)
    words = torch.arange(5)[:, None]
    found = shards(codec, {"words": words}, 2)
    assert [shard.flatten().tolist() for shard in found] == [[0, 1, 2], [3, 4]]
    filled = torch.cat([found[1], torch.zeros(1, 1)])
    assert torch.equal(codec.whole([found[0], filled])[0], words)


def test_a_tied_model_has_no_head_of_its_own(policy_of: Callable[..., Path]) -> None:
    tied, untied = (parameters.shapes(architecture.read(policy_of(tied=tied))) for tied in (True, False))
    assert untied.keys() - tied.keys() == {"lm_head.weight"}


def test_norms_that_lie_in_the_matrices_behind_them_are_known_by_their_own_names(policy: Path) -> None:
    """As in megatron-core's own table, by which checkpoints of either kind of layer are alike."""
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec

    codecs = parameters.codecs(architecture.read(policy))
    layer: Any = get_gpt_layer_local_spec().submodules
    for plain, fused in layer.sharded_state_dict_keys_map.items():
        assert parameters.unfused(f"{fused}weight") == f"{plain}weight"
        assert f"decoder.layers.0.{plain}weight" in codecs
    assert parameters.unfused("mlp.linear_fc1.weight") == "mlp.linear_fc1.weight"
