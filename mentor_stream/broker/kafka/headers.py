"""Header names that are no text. kafka-python reads neither such a record nor any behind it, ever again."""

from typing import Any, cast

from kafka.record import util
from kafka.record.default_records import DefaultRecordBatch

FIELDS_BEFORE_KEY = 3
"""Attributes, time and offset, each a varint."""


def install() -> None:
    """From now on in this process, read them with question marks in place of what is no text."""
    batch: Any = DefaultRecordBatch
    read = batch._read_msg
    if getattr(read, "mended", False):
        return

    def read_mended(self: Any) -> Any:
        try:
            return read(self)
        except UnicodeDecodeError:
            self._buffer = with_legible_names(bytes(self._buffer), self._pos)
            return read(self)

    read_mended.mended = True  # pyright: ignore[reportFunctionMemberAccess]
    batch._read_msg = read_mended


def with_legible_names(batch: bytes, position: int) -> bytes:
    """The batch, the header names of its record at `position` made ASCII; nothing else in it changes."""
    mended = bytearray(batch)
    _, at = _varint(batch, position)
    for _ in range(FIELDS_BEFORE_KEY):
        _, at = _varint(batch, at)
    for _ in ("key", "value"):
        at = _end(batch, at)
    count, at = _varint(batch, at)
    for _ in range(count):
        length, at = _varint(batch, at)
        name = bytes(byte if byte < 0x80 else ord("?") for byte in batch[at : at + length])
        mended[at : at + length] = name
        at = _end(batch, at + length)
    return bytes(mended)


def _end(batch: bytes, at: int) -> int:
    """Where a text with its length before it ends; one of length -1 is none."""
    length, at = _varint(batch, at)
    return at + max(length, 0)


def _varint(batch: bytes, at: int) -> tuple[int, int]:
    """The number there, and where the next thing begins."""
    return cast("Any", util).decode_varint(batch, at)
