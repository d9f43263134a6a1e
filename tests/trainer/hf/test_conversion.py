import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.trainer.policies import ROPES, VOCABULARY, hf_model, weights_of
from trainer.config import TrainerConfig
from trainer.hf import conversion, parameters
from trainer.model import architecture, gpt
from trainer.model.architecture import UnsupportedModel
from trainer.model.layers import packed


def loaded(policy: Path, **settings: Any) -> torch.nn.Module:
    shape = architecture.read(policy)
    network = gpt.build(shape, TrainerConfig(**settings)).module
    conversion.load(policy, shape, network)
    return network


def export(policy: Path, network: torch.nn.Module, directory: Path, shard_bytes: int = 10**9) -> None:
    shape = architecture.read(policy)
    directory.mkdir(exist_ok=True)
    conversion.save(policy, shape, conversion.gather(shape, network), directory, shard_bytes)


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
    for name, codec in parameters.codecs(architecture.read(policy)).items():
        found = codec.whole([ours.get_parameter(name).main_grad])  # pyright: ignore[reportAttributeAccessIssue]
        for part, tensor in zip(codec.tensors, found, strict=True):
            torch.testing.assert_close(tensor, gradient(theirs, part), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["distilled", *ROPES])
def test_logits_are_those_of_transformers_at_positions_known_before_scaling_and_beyond(
    rank: None, policy_of: Callable[..., Path], family: str
) -> None:
    policy = policy_of(family)
    ids = torch.randint(VOCABULARY, (2, 120), generator=torch.Generator().manual_seed(0))
    theirs, ours = hf_model(policy)(input_ids=ids).logits, logits(loaded(policy), ids)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_an_exported_policy_is_the_imported_one_bit_for_bit(rank: None, policy: Path, tmp_path: Path) -> None:
    export(policy, loaded(policy), tmp_path)
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
    export(policy, network, tmp_path)
    ids = torch.randint(VOCABULARY, (2, 20), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        hf_model(tmp_path)(input_ids=ids).logits, logits(network, ids), rtol=0, atol=1e-5
    )
    assert (tmp_path / "tokenizer.json").read_bytes() == (policy / "tokenizer.json").read_bytes()
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float32"


def resaved(policy: Path, directory: Path, **settings: Any) -> Path:
    """The policy as transformers writes it otherwise."""
    shutil.copytree(policy, directory)
    (directory / "model.safetensors").unlink()
    hf_model(policy).to(settings.pop("dtype", torch.float32)).save_pretrained(directory, **settings)
    return directory


def test_weights_in_many_files_are_found_by_their_index(rank: None, policy: Path, tmp_path: Path) -> None:
    split = resaved(policy, tmp_path / "split", max_shard_size="8KB")
    assert len(list(split.glob("*.safetensors"))) > 2
    ours, theirs = (weights_of(conversion.gather(architecture.read(p), loaded(p))) for p in (policy, split))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_policy_exported_in_many_files_loads_in_transformers_and_here(
    rank: None, policy: Path, tmp_path: Path
) -> None:
    export(resaved(policy, tmp_path / "in", max_shard_size="8KB"), loaded(policy), tmp_path / "out", 10_000)
    files = sorted(path.name for path in (tmp_path / "out").glob("*.safetensors"))
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    ours, theirs = hf_model(tmp_path / "out").state_dict(), hf_model(policy).state_dict()
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())
    again = weights_of(conversion.gather(architecture.read(policy), loaded(tmp_path / "out")))
    assert all(torch.equal(theirs[name], tensor) for name, tensor in again.items())


@pytest.mark.parametrize(("stored", "trained"), [("bfloat16", "fp32"), ("float32", "bf16")])
def test_weights_of_another_format_are_converted_and_exported_in_the_trainers(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path, stored: str, trained: str
) -> None:
    policy = resaved(policy_of("qwen3"), tmp_path / "in", dtype=getattr(torch, stored))
    network = loaded(policy, precision=trained)
    export(policy, network, tmp_path / "out")
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[trained]
    original, exported = (load_file(tmp_path / name / "model.safetensors") for name in ("in", "out"))
    assert all(torch.equal(exported[name], original[name].to(dtype)) for name in original)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == str(dtype)[6:]


def changed(policy: Path, directory: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """The policy with other tensors."""
    shutil.copytree(policy, directory)
    tensors = load_file(policy / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors")
    return directory


def test_a_tied_model_whose_head_is_stored_too_is_read_when_both_are_the_same(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    policy, name = policy_of(tied=True), "model.embed_tokens.weight"
    same = changed(policy, tmp_path / "a", lambda t: t.update({"lm_head.weight": t[name].clone()}))
    assert torch.equal(next(loaded(same).parameters()), next(loaded(policy).parameters()))
    other = changed(policy, tmp_path / "b", lambda t: t.update({"lm_head.weight": t[name] + 1}))
    with pytest.raises(UnsupportedModel, match=r"tie_word_embeddings, but lm_head\.weight is another"):
        loaded(other)


def test_tensors_that_are_not_those_of_the_model_are_named(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    policy = changed(policy_of(), tmp_path / "a", lambda t: t.pop("model.norm.weight"))
    with pytest.raises(UnsupportedModel, match=r"missing: model\.norm\.weight"):
        loaded(policy)
