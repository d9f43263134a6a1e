"""What a server asks for and what the sender answers. Pure: parsed from bytes of strangers, or refused.

A server puts an Ask into the queue ASKS of the store and waits for the Answer under a key of its own. An Ask
of no ranks is a look: is the snapshot there, and of which model? One of some is a request to be sent it.
"""

import ipaddress
import json
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Annotated, Any, Literal

import msgspec

PROTOCOL = 1
"""Both ends must have the same."""
ASKS = "asks"
"""The queue of the store that asks go into."""
BUCKET_BYTES = 2**26
"""Weights go in pieces of so many bytes, of which a server has two in memory."""
DTYPES = {
    "F64": ("float64", 8),
    "F32": ("float32", 4),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "F8_E4M3": ("float8_e4m3fn", 1),
    "F8_E5M2": ("float8_e5m2", 1),
    "I64": ("int64", 8),
    "I32": ("int32", 4),
    "I16": ("int16", 2),
    "I8": ("int8", 1),
    "U8": ("uint8", 1),
    "BOOL": ("bool", 1),
}
"""What safetensors calls a number format: its name in PyTorch, and the bytes of a number."""

Backend = Literal["gloo", "nccl"]
Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Bytes = Annotated[int, msgspec.Meta(ge=0)]


class Garbled(ValueError):
    """A message that is none of ours."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a server wants."""

    protocol: int = PROTOCOL
    id: Id
    """Of this look or this update, chosen by whoever asks: no other has it."""
    digest: Digest
    """Of the snapshot's manifest."""
    backend: Backend
    ranks: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    """Processes of the server, all of which receive; none: it only looks."""
    address: Annotated[str, msgspec.Meta(max_length=64)]
    """The IP address of the first of them, by which the sender knows its own network interface."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=86400)]
    """After which it waits no more."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A tensor, at its place among the bytes of a file."""

    name: str
    dtype: str
    shape: tuple[Bytes, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return prod(self.shape) * DTYPES[self.dtype][1]


class File(msgspec.Struct, frozen=True):
    """The tensors of one safetensors file, without gaps and in the order of their bytes."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Bytes of all its tensors."""
        return sum(piece.size for piece in self.pieces)


class Offer(msgspec.Struct, frozen=True, tag="offer"):
    """What the sender has: the model's config.json, and what its files hold."""

    config: dict[str, Any]
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """Bytes of all weights."""
        return sum(file.size for file in self.files)

    def buckets(self) -> Iterator[int]:
        """Bytes of each piece that is sent, in order. None is of two files."""
        for file in self.files:
            whole, rest = divmod(file.size, BUCKET_BYTES)
            yield from [BUCKET_BYTES] * whole
            if rest:
                yield rest


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """Why nothing is sent."""

    why: str
    gone: bool = False
    """Another try is no help."""


Answer = Offer | Refusal


def read_ask(data: bytes) -> Ask:
    """Raises Garbled."""
    try:
        ask = msgspec.json.decode(data, type=Ask)
        ipaddress.ip_address(ask.address)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"no ask of ours: {error}") from error
    return ask


def read_answer(data: bytes) -> Answer:
    """Raises Garbled, also for tables of tensors that cannot be."""
    try:
        answer = msgspec.json.decode(data, type=Answer)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"no answer of ours: {error}") from error
    if isinstance(answer, Offer):
        _check(answer.files)
    return answer


def write(message: Ask | Answer) -> bytes:
    """As it goes into the store."""
    return msgspec.json.encode(message)


def answer_key(ask_id: str) -> str:
    """Where the answer is."""
    return f"{ask_id}/answer"


def group_prefix(ask_id: str) -> str:
    """Below which the processes of an update find each other."""
    return f"{ask_id}/group"


class _Entry(msgspec.Struct, frozen=True):
    """A tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[Bytes, ...]
    data_offsets: tuple[Bytes, Bytes]


def read_header(header: bytes) -> File:
    """The tensors of a safetensors file, by its header. Raises Garbled for what cannot be sent."""
    try:
        entries: dict[str, Any] = json.loads(header)
        entries.pop("__metadata__", None)
        table = msgspec.convert(entries, type=dict[str, _Entry])
    except (ValueError, AttributeError, RecursionError) as error:
        raise Garbled(f"no header of safetensors: {error}") from error
    ordered = sorted(table.items(), key=lambda item: item[1].data_offsets)
    file = File(tuple(Piece(name, entry.dtype, entry.shape) for name, entry in ordered))
    _check([file])
    ends = [0, *(entry.data_offsets[1] for _, entry in ordered)]
    starts = [entry.data_offsets[0] for _, entry in ordered]
    sizes = [end - start for start, end in pairwise(ends)]
    if starts != ends[:-1] or sizes != [piece.size for piece in file.pieces]:
        raise Garbled("the tensors of a file do not lie one behind the other")
    return file


def _check(files: "tuple[File, ...] | list[File]") -> None:
    names = [piece.name for file in files for piece in file.pieces]
    if unknown := {p.dtype for file in files for p in file.pieces} - DTYPES.keys():
        raise Garbled(f"number formats that nobody knows: {', '.join(sorted(unknown))}")
    if len(set(names)) < len(names):
        raise Garbled("two tensors have one name")
