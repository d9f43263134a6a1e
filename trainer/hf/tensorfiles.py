"""Safetensors files of a Hugging Face directory: their headers, parts of their tensors, writing one by one.

The library writes a file from tensors that are in memory together. Where each is to lie is known before the
first is there, so here they are written as they come: the length of a JSON header, the header, the bytes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.model.architecture import UnsupportedModel

if TYPE_CHECKING:
    from torch import Tensor

SHARD_BYTES = 2 * 10**9
"""Size of the files that weights are written to, unless a single tensor is larger."""

_WHOLE, _INDEX, _METADATA = "model.safetensors", "model.safetensors.index.json", "__metadata__"
_HEAD = "lm_head.weight"
_CODES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_NAMED = 3
"""How many of many are named."""

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Stored:
    """A tensor in a file."""

    path: Path
    shape: tuple[int, ...]
    dtype: str

    def read(self, name: str, region: tuple[slice, ...]) -> "Tensor":
        """A part of it."""
        from safetensors import safe_open

        # Opened each time: what was read of a mapped file counts as our memory until it is closed.
        with safe_open(self.path, framework="pt") as file:
            return file.get_slice(name)[region]


def stored(policy: Path) -> dict[str, Stored]:
    """The tensors in the files that transformers reads. Raises UnsupportedModel, OSError."""
    found: dict[str, Stored] = {}
    for path, places in _files(policy):
        found |= {
            name: tensor for name, tensor in _header(path).items() if places.get(name, path.name) == path.name
        }
    return found


def checked(policy: Path, wanted: Shapes) -> dict[str, Stored]:
    """The tensors of a directory, which are those of the model. Raises UnsupportedModel, OSError."""
    found = stored(policy)
    if problems := list(_problems(found, wanted)):
        raise UnsupportedModel("; ".join(problems))
    return found


def write(
    directory: Path,
    shapes: Shapes,
    dtype: str,
    tensors: Iterable[tuple[str, "Tensor"]],
    limit: int,
) -> None:
    """Write tensors of these shapes and torch dtype, which come in this order, and never hold more than one.

    As many files of at most `limit` bytes as it takes and an index, or `model.safetensors` alone.
    """
    coming, width = iter(tensors), 2 if dtype in ("float16", "bfloat16") else 4
    sizes = {name: prod(shape) * width for name, shape in shapes.items()}
    shards = _shards(sizes, limit)
    for file, names in shards.items():
        with (directory / file).open("wb") as out:
            out.write(_head({name: shapes[name] for name in names}, sizes, _CODES[dtype]))
            for name in names:
                out.write(_bytes(next(coming), name, shapes[name]))
    if rest := [name for name, _ in coming]:
        raise ValueError(f"{rest} came and was not expected")
    if len(shards) > 1:
        places = {name: file for file, names in shards.items() for name in names}
        index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": places}
        (directory / _INDEX).write_text(json.dumps(index, indent=2))


def _files(policy: Path) -> list[tuple[Path, dict[str, str]]]:
    """The files that hold the weights, and which tensor is where if an index says it."""
    if (policy / _WHOLE).exists():
        return [(policy / _WHOLE, {})]
    if not (policy / _INDEX).exists():
        raise UnsupportedModel(_without_weights(policy))
    try:
        places = json.loads((policy / _INDEX).read_text())["weight_map"]
        files = sorted({policy / file for file in places.values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnsupportedModel(f"{_INDEX} holds no weight_map of names and files") from error
    for problem in _named(
        f"{_INDEX} names files that are missing", [f.name for f in files if not f.exists()]
    ):
        raise UnsupportedModel(problem)
    return [(file, places) for file in files]


def _without_weights(policy: Path) -> str:
    text = f"it holds no weights ({_WHOLE} or {_INDEX})"
    others = sorted(path.name for kind in ("*.bin", "*.pt", "*.pth", "*.gguf") for path in policy.glob(kind))
    if not others:
        return text
    return (
        f"{text}; {others[0]} is not read, save the model as safetensors (transformers' save_pretrained does)"
    )


def _header(path: Path) -> dict[str, Stored]:
    """The tensors of a file, all of whose bytes are there."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(min(length, size)))
        header.pop(_METADATA, None)
        end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        found = {n: Stored(path, tuple(entry["shape"]), entry["dtype"]) for n, entry in header.items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnsupportedModel(f"{path.name} is no safetensors file: {error!r}") from error
    if size != 8 + length + end:
        raise UnsupportedModel(f"{path.name} has {size} bytes, but its header describes {8 + length + end}")
    return found


def _problems(found: Mapping[str, Stored], wanted: Shapes) -> Iterator[str]:
    missing = [name for name in wanted if name not in found]
    yield from _named("tensors are missing", missing)
    if missing == [_HEAD]:
        yield "config.json does not say tie_word_embeddings, so the model must have a head of its own"
    yield from _named("the model has no such tensors", [name for name in found if not _known(name, wanted)])
    misshapen = [
        f"{name} is {list(found[name].shape)}, expected {list(shape)}"
        for name, shape in wanted.items()
        if name in found and found[name].shape != shape
    ]
    yield from _named("tensors have other shapes than config.json says", misshapen)
    quantised = [f"{name} ({t.dtype})" for name, t in found.items() if t.dtype not in _CODES.values()]
    yield from _named("quantised tensors are not supported", quantised)


def _known(name: str, wanted: Shapes) -> bool:
    # A tied model's head may be stored as well, and old files hold rotary frequencies.
    return name in wanted or name == _HEAD or name.endswith(".rotary_emb.inv_freq")


def _named(what: str, names: list[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{what}: {', '.join(names[:_NAMED])}{more}"


def _shards(sizes: Mapping[str, int], limit: int) -> dict[str, list[str]]:
    """Names by files, in their order; none is over the limit unless one tensor is."""
    shards: list[list[str]] = [[]]
    taken = 0
    for name, size in sizes.items():
        if shards[-1] and taken + size > limit:
            shards.append([])
            taken = 0
        shards[-1].append(name)
        taken += size
    if len(shards) == 1:
        return {_WHOLE: shards[0]}
    of = f"of-{len(shards):05d}"
    return {f"model-{number:05d}-{of}.safetensors": names for number, names in enumerate(shards, 1)}


def _head(shapes: Shapes, sizes: Mapping[str, int], code: str) -> bytes:
    header: dict[str, Any] = {_METADATA: {"format": "pt"}}
    start = 0
    for name, shape in shapes.items():
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [start, start + sizes[name]]}
        start += sizes[name]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _bytes(came: "tuple[str, Tensor]", name: str, shape: tuple[int, ...]) -> memoryview:
    import torch

    if (came[0], came[1].shape) != (name, shape):
        raise ValueError(f"{came[0]} {list(came[1].shape)} came instead of {name} {list(shape)}")
    return came[1].contiguous().view(torch.uint8).numpy().data
