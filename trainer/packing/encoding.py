"""A share as bytes, for the ranks that learn from it: a MessagePack document, arrays as they lie in memory.

Eight bytes a completion token and four a prompt token: what a rank can work out for itself (targets,
positions, masks) microbatch.py lays out there.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trainer.packing.rows import Row
from trainer.packing.shares import Part, Share

_ID, _LOGPROB = np.dtype("<i4"), np.dtype("<f4")


class _Row(msgspec.Struct, frozen=True, array_like=True):
    """All of a row but its arrays, of which it has the lengths."""

    prompt: int
    completion: int
    temperature: float
    advantage: float
    weight: float
    as_sampled: bool
    truncated: bool


class _Part(msgspec.Struct, frozen=True, array_like=True):
    packs: list[list[_Row]]
    filled: int


class _Share(msgspec.Struct, frozen=True, array_like=True):
    parts: list[_Part]
    dropped: int
    truncated: int
    ids: bytes
    """Of prompt and completion, row after row."""
    logprobs: bytes


def encode(share: Share) -> bytes:
    """The bytes of a share."""
    rows = [row for part in share.parts for pack in part.packs for row in pack]
    written = _Share(
        parts=[_Part([list(map(_head, pack)) for pack in part.packs], part.filled) for part in share.parts],
        dropped=share.dropped,
        truncated=share.truncated,
        ids=_joined(chain.from_iterable((row.prompt_ids, row.completion_ids) for row in rows), _ID),
        logprobs=_joined((row.logprobs for row in rows), _LOGPROB),
    )
    return msgspec.msgpack.encode(written)


def decode(data: bytes) -> Share:
    """The share that was encoded, the same to the bit."""
    read = msgspec.msgpack.decode(data, type=_Share)
    ids, logprobs = _Arrays(read.ids, _ID), _Arrays(read.logprobs, _LOGPROB)
    parts = [
        Part([[_row(head, ids, logprobs) for head in pack] for pack in part.packs], part.filled)
        for part in read.parts
    ]
    return Share(parts, read.dropped, read.truncated)


class _Arrays:
    """Arrays that were joined, one after the other."""

    def __init__(self, data: bytes, dtype: "np.dtype[Any]") -> None:
        self._left = np.frombuffer(data, dtype)

    def next(self, length: int) -> NDArray[Any]:
        """The next one, of this length; shares the memory."""
        found, self._left = self._left[:length], self._left[length:]
        return found


def _joined(arrays: Iterable[NDArray[Any]], dtype: "np.dtype[Any]") -> bytes:
    return b"".join(array.astype(dtype, copy=False).data for array in arrays)


def _head(row: Row) -> _Row:
    return _Row(
        len(row.prompt_ids),
        len(row.completion_ids),
        row.temperature,
        row.advantage,
        row.weight,
        row.as_sampled,
        row.truncated,
    )


def _row(head: _Row, ids: _Arrays, logprobs: _Arrays) -> Row:
    return Row(
        prompt_ids=ids.next(head.prompt),
        completion_ids=ids.next(head.completion),
        logprobs=logprobs.next(head.completion),
        temperature=head.temperature,
        advantage=head.advantage,
        weight=head.weight,
        as_sampled=head.as_sampled,
        truncated=head.truncated,
    )
