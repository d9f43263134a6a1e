"""What a pool and its workers say to each other: MessagePack behind a length of 4 bytes, big-endian."""

import struct
from typing import Any, Literal

import msgspec

LENGTH = struct.Struct(">I")


class Setup(msgspec.Struct):
    """The first frame: what to make, and within how much memory."""

    factory: str
    """`module:function`; called once with `argument`, it returns the handler of all requests."""
    argument: Any
    memory_bytes: int | None


class Request(msgspec.Struct):
    """One call of the handler."""

    payload: Any
    cpu_seconds: int


class Reply(msgspec.Struct):
    """What came of the setup or of a request: the result, the exception's text, or nothing (memory)."""

    kind: Literal["result", "raised", "memory"]
    value: Any = None


def frame(message: msgspec.Struct) -> bytes:
    """A message as it stands on the pipe."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body
