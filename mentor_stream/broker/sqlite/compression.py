"""Values as the file keeps them. Each says itself how it was compressed, so readers need no option."""

import zlib
from types import ModuleType
from typing import NamedTuple

from mentor_stream.broker.base import BrokerError

NAMES = ("none", "gzip", "lz4")
"""What `compression=` may be. A value's codec, in the file, is the index into this."""

_NONE, _GZIP, _LZ4 = range(len(NAMES))


class Stored(NamedTuple):
    """A value as it is kept."""

    codec: int
    data: bytes


def check(name: str) -> None:
    """Raises BrokerError when the compression called `name` cannot be used here."""
    if name == NAMES[_LZ4]:
        _lz4()


def pack(value: bytes, name: str) -> Stored:
    """The value compressed as `name` says, or as it is when that does not make it smaller."""
    codec = NAMES.index(name)
    if codec == _GZIP:
        data = zlib.compress(value, 1)
    elif codec == _LZ4:
        data = _lz4().compress(value)
    else:
        return Stored(_NONE, value)
    return Stored(codec, data) if len(data) < len(value) else Stored(_NONE, value)


def unpack(stored: Stored) -> bytes:
    """The value. Raises BrokerError for one that is damaged."""
    codec, data = stored
    if codec == _NONE:
        return data
    try:
        return zlib.decompress(data) if codec == _GZIP else _lz4().decompress(data)
    except (zlib.error, RuntimeError) as error:  # the latter is lz4's
        raise BrokerError(f"a compressed message in the file is damaged ({error}): restore a copy") from error


def _lz4() -> ModuleType:
    try:
        from lz4 import block  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise BrokerError("compression=lz4 needs the package lz4: pip install lz4, or use gzip") from error
    return block
