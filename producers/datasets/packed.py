"""LiveCodeBench's private tests as its authors packed them: base64 of zlib of a pickled string.

Nothing is unpickled: a pickle can run anything. The opcodes are looked through, and the one string that such
a file holds is taken; with any other opcode among them, such as one that imports or calls, it is refused.
"""

import base64
import pickletools
import zlib
from collections.abc import Iterator

MAX_UNPACKED = 256 * 2**20
"""Bytes that a packed text may come to."""
_STRINGS = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
_HARMLESS = {"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"}


def unpacked(text: str) -> str:
    """The string inside. Raises ValueError for anything else, with the reason."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"neither JSON nor base64 ({error})") from error
    return pickled_string(_inflated(data))


def pickled_string(data: bytes) -> str:
    """The string that a pickle of nothing but a string holds, without unpickling it. Raises ValueError."""
    strings: list[str] = []
    for name, argument in _operations(data):
        if name in _STRINGS:
            strings.append(str(argument))
        elif name not in _HARMLESS:
            raise ValueError(f"its pickle holds {name}, more than a string")
    if len(strings) != 1:
        raise ValueError(f"its pickle holds {len(strings)} strings, expected one")
    return strings[0]


def _operations(data: bytes) -> Iterator[tuple[str, object]]:
    """The pickle's opcodes and their arguments, as they stand there."""
    try:
        for opcode, argument, _ in pickletools.genops(data):
            yield opcode.name, argument
    except Exception as error:  # of foreign bytes, whatever it raises
        raise ValueError(f"not a pickled string ({error})") from error


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(data, MAX_UNPACKED)
    except zlib.error as error:
        raise ValueError(f"base64 of something else than zlib's ({error})") from error
    if inflate.unconsumed_tail:
        raise ValueError(f"more than {MAX_UNPACKED >> 20} MB when unpacked")
    if not inflate.eof:
        raise ValueError("zlib data that ends too soon")
    return found
