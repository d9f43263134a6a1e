"""Hugging Face directories in and out of the megatron model."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from trainer import ranks
from trainer.architecture import Architecture
from trainer.parameters import codec_of

_WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json", "*.bin", "*.pt", "*.pth", "manifest.json")


def load(policy: Path, architecture: Architecture, model: Any) -> None:
    """Copy `policy`'s weights into this rank's model. Raises KeyError for a missing one."""
    rank = parallel_state.get_tensor_model_parallel_rank()
    sharing = parallel_state.get_tensor_model_parallel_world_size()
    tensors = _Directory(policy)
    with torch.no_grad():
        for name, parameter in _named(model, architecture):
            codec = codec_of(name, architecture)
            full = codec.join([tensors[part] for part in codec.names])
            parameter.copy_(codec.shard(full, rank, sharing))


def gather(architecture: Architecture, model: Any) -> dict[str, Tensor]:
    """All weights under their Hugging Face names, on the CPU. Every rank must call it."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in _named(model, architecture):
        codec = codec_of(name, architecture)
        parts = codec.part(codec.whole(_all_shards(parameter.detach())))
        tensors |= {n: p.clone().contiguous().cpu() for n, p in zip(codec.names, parts, strict=True)}
    return _all_stages(tensors)


def _named(model: Any, architecture: Architecture) -> Iterator[tuple[str, Tensor]]:
    """A stage's parameters, under the names that they would have in a model of one stage."""
    before = model.decoder.layers[0].layer_number - 1
    for name, parameter in model.named_parameters():
        if architecture.tied and name == "output_layer.weight":
            yield "embedding.word_embeddings.weight", parameter  # the last stage's copy
        elif name.startswith("decoder.layers."):
            number, _, inner = name.removeprefix("decoder.layers.").partition(".")
            yield f"decoder.layers.{int(number) + before}.{inner}", parameter
        else:
            yield name, parameter


def _all_stages(own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of all pipeline stages, on each of them."""
    if parallel_state.get_pipeline_model_parallel_world_size() == 1:
        return own
    group: Any = parallel_state.get_pipeline_model_parallel_group()
    where = ranks.device()
    everything: dict[str, Tensor] = {}
    for source in dist.get_process_group_ranks(group):
        mine = source == dist.get_rank()
        shapes: list[Any] = [{n: (t.shape, t.dtype) for n, t in own.items()} if mine else None]
        dist.broadcast_object_list(shapes, src=source, group=group)
        for name, (shape, dtype) in shapes[0].items():
            tensor = own[name].to(where) if mine else torch.empty(shape, dtype=dtype, device=where)
            dist.broadcast(tensor, src=source, group=group)
            everything[name] = tensor.cpu()
    return everything


def save(policy: Path, tensors: Mapping[str, Tensor], directory: Path) -> None:
    """Write weights as a Hugging Face directory; config and tokenizer are those of `policy`."""
    copy_files(policy, directory, weights=False)
    save_file(dict(tensors), directory / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((policy / "config.json").read_text())
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    config |= {"dtype": dtype} | ({"torch_dtype": dtype} if "torch_dtype" in config else {})
    (directory / "config.json").write_text(json.dumps(config, indent=2))


def copy_files(policy: Path, directory: Path, *, weights: bool = True) -> None:
    """Copy the files of a Hugging Face directory, with or without those that hold weights."""
    skipped = ("manifest.json",) if weights else _WEIGHT_FILES
    for path in sorted(policy.iterdir()):
        hidden = path.name.startswith(".")
        if path.is_file() and not hidden and not any(path.match(pattern) for pattern in skipped):
            shutil.copyfile(path, directory / path.name)


def _all_shards(parameter: Tensor) -> list[Tensor]:
    sharing = parallel_state.get_tensor_model_parallel_world_size()
    if sharing == 1:
        return [parameter]
    shards = [torch.empty_like(parameter) for _ in range(sharing)]
    dist.all_gather(shards, parameter.contiguous(), group=parallel_state.get_tensor_model_parallel_group())
    return shards


class _Directory:
    """Tensors of all safetensors files of a directory, read one at a time."""

    def __init__(self, directory: Path) -> None:
        self._files: dict[str, Path] = {}
        for path in sorted(directory.glob("*.safetensors")):
            with safe_open(path, framework="pt") as file:
                self._files |= dict.fromkeys(file.keys(), path)

    def __getitem__(self, name: str) -> Tensor:
        with safe_open(self._files[name], framework="pt") as file:
            return file.get_tensor(name)
