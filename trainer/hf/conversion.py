"""Hugging Face directories in and out of the megatron model, a tensor at a time."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from torch import Tensor

from trainer import ranks
from trainer.hf import parameters, tensorfiles
from trainer.hf.parameters import Codec
from trainer.hf.tensorfiles import Stored
from trainer.model.architecture import Architecture, UnsupportedModel

_WEIGHT_FILES = (
    "*.safetensors", "*.index.json", "*.bin", "*.pt", "*.pth", "*.gguf", "*.h5", "*.msgpack", "manifest.json",
)  # fmt: skip
_WORDS, _HEAD = "embedding.word_embeddings.weight", "output_layer.weight"


def load(policy: Path, architecture: Architecture, model: Any) -> None:
    """Copy `policy`'s weights into this rank's model, reading what it holds alone.

    Raises UnsupportedModel when the files do not hold this model's tensors.
    """
    stored = tensorfiles.checked(policy, parameters.shapes(architecture))
    codecs = parameters.codecs(architecture)
    with torch.no_grad():
        for name, parameter in _named(model, architecture):
            own = _own_shard(codecs[name], stored)
            if name == _WORDS and architecture.tied:
                _compare_with_head(own, codecs[name], stored)
            parameter[: len(own)].copy_(own)
            parameter[len(own) :].zero_()  # what only fills the last rank's share of the vocabulary


def _own_shard(codec: Codec, stored: Mapping[str, Stored]) -> Tensor:
    rank, sharing = _tensor_parallel()
    regions = zip(codec.tensors, codec.regions(rank, sharing), strict=True)
    return codec.shard([stored[name].read(name, region) for name, region in regions], rank, sharing)


def _compare_with_head(words: Tensor, codec: Codec, stored: Mapping[str, Stored]) -> None:
    """Refuse a head that a tied model would lose."""
    if head := stored.get("lm_head.weight"):
        [region] = codec.regions(*_tensor_parallel())
        if not torch.equal(head.read("lm_head.weight", region), words):
            raise UnsupportedModel("config.json says tie_word_embeddings, but lm_head.weight is another")


def gather(architecture: Architecture, model: Any) -> Iterator[tuple[str, Tensor]]:
    """On rank 0, each weight under its Hugging Face name, on the CPU, good until the next is asked for.

    Every rank must go through to the end; the others get nothing.
    """
    if parallel_state.get_data_parallel_rank(with_context_parallel=True) > 0:
        return
    codecs, held = parameters.codecs(architecture), dict(_named(model, architecture))
    # The last stage's copy of tied words is the first stage's to give.
    own = [n for n in codecs if n in held and (n != _WORDS or parallel_state.is_pipeline_first_stage())]
    for stage, names in enumerate(_names_by_stage(own)):
        mine = stage == parallel_state.get_pipeline_model_parallel_rank()
        for name in names if mine or ranks.is_lead() else ():
            parts = _whole(codecs[name], held[name].detach()) if mine else []
            for part, tensor in _at_lead(codecs[name], parts, stage, model.config.params_dtype):
                yield part, tensor.cpu()


def _names_by_stage(own: list[str]) -> list[list[str]]:
    """The names that each pipeline stage has, on all of them."""
    stages = parallel_state.get_pipeline_model_parallel_world_size()
    if stages == 1:
        return [own]
    names: list[Any] = [None] * stages
    group: Any = parallel_state.get_pipeline_model_parallel_group()
    dist.all_gather_object(names, own, group=group)
    return names


def _whole(codec: Codec, shard: Tensor) -> list[Tensor]:
    """The tensors of a parameter, on its stage's first tensor-parallel rank; nothing on the others."""
    rank, sharing = _tensor_parallel()
    if sharing == 1 or (codec.dim is None and rank == 0):
        return codec.whole([shard])
    if codec.dim is None:
        return []
    shards = [torch.empty_like(shard) for _ in range(sharing)] if rank == 0 else None
    group: Any = parallel_state.get_tensor_model_parallel_group()
    first = parallel_state.get_tensor_model_parallel_src_rank()
    dist.gather(shard.contiguous(), shards, dst=first, group=group)
    return codec.whole(shards) if shards else []


def _at_lead(
    codec: Codec, parts: list[Tensor], stage: int, dtype: torch.dtype
) -> Iterator[tuple[str, Tensor]]:
    """On rank 0, a stage's tensors with their names; its first tensor-parallel rank sends them."""
    group: Any = parallel_state.get_pipeline_model_parallel_group()
    for place, (name, shape) in enumerate(codec.tensors.items()):
        if ranks.is_lead():
            if stage == 0:
                yield name, parts[place]
                continue
            tensor = torch.empty(shape, dtype=dtype, device=ranks.device())
            dist.recv(tensor, src=dist.get_process_group_ranks(group)[stage], group=group)
            yield name, tensor
        elif stage > 0 and parts:
            dist.send(parts[place].contiguous(), dst=0, group=group)


def save(
    policy: Path,
    architecture: Architecture,
    tensors: Iterable[tuple[str, Tensor]],
    directory: Path,
    shard_bytes: int = tensorfiles.SHARD_BYTES,
) -> None:
    """Write weights as they come as a Hugging Face directory; config and tokenizer are those of `policy`."""
    copy_files(policy, directory, weights=False)
    coming = iter(tensors)
    first = next(coming)
    dtype = str(first[1].dtype).removeprefix("torch.")
    shapes = parameters.shapes(architecture)
    tensorfiles.write(directory, shapes, dtype, chain([first], coming), shard_bytes)
    config = json.loads((policy / "config.json").read_text())
    config |= {"dtype": dtype} | ({"torch_dtype": dtype} if "torch_dtype" in config else {})
    (directory / "config.json").write_text(json.dumps(config, indent=2))


def copy_files(policy: Path, directory: Path, *, weights: bool = True) -> None:
    """Copy the files of a Hugging Face directory, with or without those that hold weights."""
    skipped = ("manifest.json",) if weights else _WEIGHT_FILES
    for path in sorted(policy.iterdir()):
        hidden = path.name.startswith(".")
        if path.is_file() and not hidden and not any(path.match(pattern) for pattern in skipped):
            shutil.copyfile(path, directory / path.name)


def _named(model: Any, architecture: Architecture) -> Iterator[tuple[str, Tensor]]:
    """A stage's parameters, under the names that they would have in a model of one stage."""
    before = model.decoder.layers[0].layer_number - 1
    for name, parameter in model.named_parameters():
        if architecture.tied and name == _HEAD:
            yield _WORDS, parameter  # the last stage's copy
        elif name.startswith("decoder.layers."):
            number, _, inner = name.removeprefix("decoder.layers.").partition(".")
            yield f"decoder.layers.{int(number) + before}.{parameters.unfused(inner)}", parameter
        else:
            yield name, parameter


def _tensor_parallel() -> tuple[int, int]:
    """This rank among those that share each layer, and how many they are."""
    return (
        parallel_state.get_tensor_model_parallel_rank(),
        parallel_state.get_tensor_model_parallel_world_size(),
    )
