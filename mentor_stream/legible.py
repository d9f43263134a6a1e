"""Foreign bytes and text for a terminal: readable as far as they can be, escaped, and never endless. Pure."""

import json
import math
import struct
from typing import Any, cast

import msgspec

MAX_DECODED = 8 * 2**20
"""Larger values are shown as bytes: decoded, hostile ones would take a hundred times their size."""
MAX_TEXT, MAX_ITEMS, MAX_DEPTH, MAX_BYTES = 2_000, 50, 20, 256
_NUMBERS = {"int32": "i", "float32": "f"}


def line(text: str) -> str:
    """The text on one line, with everything that is not printable escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def structure(data: bytes) -> Any:
    """What MessagePack bytes hold, cut to what a person reads, fit for JSON. Raises ValueError for others."""
    if len(data) > MAX_DECODED:
        raise ValueError(f"more than {MAX_DECODED} bytes")
    try:
        return _cut(msgspec.msgpack.decode(data), MAX_DEPTH)
    except (msgspec.DecodeError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"no MessagePack: {error}") from error


def view(data: bytes) -> str:
    """The bytes as JSON where they are MessagePack, otherwise their beginning in hexadecimal."""
    try:
        return json.dumps(structure(data), indent=2)
    except ValueError:
        return hexdump(data)


def hexdump(data: bytes) -> str:
    """The beginning of the bytes, 16 a line: offset, hexadecimal, ASCII."""
    lines = [
        _hex_line(offset, data[offset : offset + 16]) for offset in range(0, min(len(data), MAX_BYTES), 16)
    ]
    if len(data) > MAX_BYTES:
        lines.append(f"and {len(data) - MAX_BYTES:,} more bytes")
    return "\n".join(lines)


def _hex_line(offset: int, part: bytes) -> str:
    text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{offset:04x}  {part.hex(' '):47}  {text}"


def _cut(value: Any, depth: int) -> Any:
    """The value with everything that is long cut, and nothing but what JSON knows."""
    match value:
        case dict() | list() if not depth:
            return "..."
        case dict():
            return _cut_map(cast("dict[Any, Any]", value), depth)
        case ["int32" | "float32" as kind, bytes() as data] if len(data) % 4 == 0:
            return _array(kind, data)
        case list():
            return _cut_list(cast("list[Any]", value), depth)
        case bytes():
            return f"{len(value):,} bytes: {value[:16].hex(' ')}" + " ..." * (len(value) > 16)
        case str():
            return _text(value)
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float():
            return value
        case _:
            return _text(repr(value))


def _cut_map(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    items = list(value.items())[:MAX_ITEMS]
    shown = {_text(key if isinstance(key, str) else repr(key)): _cut(v, depth - 1) for key, v in items}
    return shown | ({"...": f"and {len(value) - MAX_ITEMS:,} more"} if len(value) > MAX_ITEMS else {})


def _cut_list(value: list[Any], depth: int) -> list[Any]:
    more = [f"... and {len(value) - MAX_ITEMS:,} more"] if len(value) > MAX_ITEMS else []
    return [_cut(item, depth - 1) for item in value[:MAX_ITEMS]] + more


def _array(kind: str, data: bytes) -> str:
    """An array of schemas.array, in one line."""
    count = len(data) // 4
    shown = struct.unpack_from(f"<{min(count, MAX_ITEMS)}{_NUMBERS[kind]}", data)
    numbers = " ".join(f"{number:.6g}" if kind == "float32" else f"{number}" for number in shown)
    return f"{count:,} x {kind}: {numbers}" + " ..." * (count > MAX_ITEMS)


def _text(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}... and {len(text) - MAX_TEXT:,} more"
