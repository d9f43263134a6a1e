import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from tests.trainer.policies import VOCABULARY, hf_model
from trainer import architecture, hf, model
from trainer.config import TrainerConfig
from trainer.layers import packed
from trainer.parameters import codec_of


def loaded(policy: Path) -> torch.nn.Module:
    shape = architecture.read(policy)
    network = model.build(shape, TrainerConfig()).module
    hf.load(policy, shape, network)
    return network


def logits(network: Any, ids: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(ids.size(1)).repeat(len(ids))
    sequences = packed([ids.size(1)] * len(ids), ids.device)
    hidden = network(ids.reshape(1, -1), positions[None], None, packed_seq_params=sequences)
    hidden = hidden.reshape(*ids.shape, -1)
    tied = network.share_embeddings_and_output_weights
    return hidden @ (network.shared_embedding_or_output_weight() if tied else network.output_layer.weight).t()


def gradient(model: torch.nn.Module, name: str) -> torch.Tensor:
    found = model.get_parameter(name).grad
    assert found is not None
    return found


def test_logits_and_gradients_are_those_of_transformers(rank: None, policy: Path) -> None:
    theirs, ours = hf_model(policy), loaded(policy)
    ids = torch.randint(VOCABULARY, (2, 20), generator=torch.Generator().manual_seed(0))
    their_logits, our_logits = theirs(input_ids=ids).logits, logits(ours, ids)
    torch.testing.assert_close(our_logits, their_logits, rtol=0, atol=1e-5)

    for output in (their_logits, our_logits):
        torch.logsumexp(output, -1).mean().backward()
    shape = architecture.read(policy)
    for name, parameter in ours.named_parameters():
        codec = codec_of(name, shape)
        expected = codec.join([gradient(theirs, part) for part in codec.names])
        torch.testing.assert_close(parameter.main_grad, expected, rtol=0, atol=1e-6)  # pyright: ignore[reportAttributeAccessIssue]


def test_an_exported_policy_is_the_imported_one_bit_for_bit(rank: None, policy: Path, tmp_path: Path) -> None:
    weights = hf.gather(architecture.read(policy), loaded(policy))
    hf.save(policy, weights, tmp_path)
    original, exported = load_file(policy / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert exported.keys() == original.keys()
    assert all(torch.equal(exported[name], original[name]) for name in original)


def test_an_exported_policy_loads_in_transformers_with_the_same_logits(
    rank: None, policy: Path, tmp_path: Path
) -> None:
    network = loaded(policy)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.01)
    hf.save(policy, hf.gather(architecture.read(policy), network), tmp_path)
    ids = torch.randint(VOCABULARY, (2, 20), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        hf_model(tmp_path)(input_ids=ids).logits, logits(network, ids), rtol=0, atol=1e-5
    )
    assert (tmp_path / "tokenizer.json").read_bytes() == (policy / "tokenizer.json").read_bytes()
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float32"
