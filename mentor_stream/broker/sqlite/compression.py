"""Values as the file keeps them. Each says itself how it was compressed, so readers need no option."""

import zlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import NamedTuple

from mentor_stream.broker.base import BrokerError


class Codec(NamedTuple):
    """A way to make values smaller."""

    name: str
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


class Stored(NamedTuple):
    """A value as it is kept."""

    codec: int
    data: bytes


def check(name: str) -> None:
    """Raises BrokerError when the compression called `name` cannot be used here."""
    CODECS[NAMES.index(name)].compress(b"")


def pack(value: bytes, name: str) -> Stored:
    """The value compressed as `name` says, or as it is when that does not make it smaller."""
    codec = NAMES.index(name)
    data = CODECS[codec].compress(value)
    return Stored(codec, data) if len(data) < len(value) else Stored(_AS_IT_IS, value)


def unpack(stored: Stored) -> bytes:
    """The value. Raises BrokerError for one that is damaged."""
    codec, data = stored
    try:
        return CODECS[codec].decompress(data)
    except (IndexError, zlib.error, RuntimeError) as error:  # the last is lz4's
        raise BrokerError(f"a compressed message in the file is damaged ({error}): restore a copy") from error


def _lz4_compress(value: bytes) -> bytes:
    return _lz4().compress(value)


def _lz4_decompress(data: bytes) -> bytes:
    return _lz4().decompress(data)


def _lz4() -> ModuleType:
    try:
        from lz4 import block  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise BrokerError("compression=lz4 needs the package lz4: pip install lz4, or use gzip") from error
    return block


CODECS = (
    Codec("none", bytes, bytes),
    Codec("gzip", partial(zlib.compress, level=1), zlib.decompress),
    Codec("lz4", _lz4_compress, _lz4_decompress),
)
"""What `compression=` may be. A value's codec, in the file, is its place in here: new ones go to the end."""
NAMES = tuple(codec.name for codec in CODECS)
_AS_IT_IS = NAMES.index("none")
