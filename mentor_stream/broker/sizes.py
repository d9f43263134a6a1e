"""How large a message may be, whichever engine keeps it, and what is said of one that is larger."""

from collections.abc import Sequence

from mentor_stream.broker.base import MessageTooLarge

ENVELOPE_BYTES = 3 * 2**10
"""Of key and headers, on top of the topic's max_message_bytes; what the value leaves is theirs too."""
HEADER_BYTES = 10
"""The most that the lengths before a header's name and value take."""


def envelope(key: bytes, headers: Sequence[tuple[str, bytes]]) -> int:
    """Bytes of key and headers."""
    size = len(key)
    for name, text in headers:
        size += len(name.encode()) + len(text) + HEADER_BYTES
    return size


def fits(value: int, envelope: int, limit: int) -> bool:
    """Whether a message may go where the topic allows `limit`; all in bytes."""
    return value <= limit and value + envelope <= limit + ENVELOPE_BYTES


def too_large(topic: str, value: int, envelope: int, limit: int) -> MessageTooLarge:
    """The error of a message that does not fit."""
    if value > limit:
        what, way_out = f"a message of {value} bytes, {limit} allowed", "send less"
    else:
        room = limit + ENVELOPE_BYTES - value
        what = f"key and headers of {envelope} bytes, {room} allowed beside a message of {value}"
        way_out = "shorten them"
    return MessageTooLarge(
        f"topic {topic}: {what}; raise its max_record_bytes in [topics] and alter the topic, or {way_out}"
    )
