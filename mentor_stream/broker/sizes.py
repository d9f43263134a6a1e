"""How large a message may be, whichever engine keeps it, and what is said of one that is larger."""

from collections.abc import Sequence

from mentor_stream.broker.base import MessageTooLarge

ENVELOPE_BYTES = 3 * 2**10
"""What key and headers of a message may have together. They come on top of the topic's max_message_bytes."""
HEADER_BYTES = 4
"""For the lengths that each header has before its name and its value."""


def envelope(topic: str, key: bytes, headers: Sequence[tuple[str, bytes]]) -> int:
    """Bytes of key and headers. Raises MessageTooLarge."""
    size = len(key)
    for name, text in headers:
        size += len(name.encode()) + len(text) + HEADER_BYTES
    if size > ENVELOPE_BYTES:
        raise MessageTooLarge(
            f"topic {topic}: a message whose key and headers have {size} bytes, {ENVELOPE_BYTES} allowed: "
            "what is that long belongs into the record"
        )
    return size


def too_large(topic: str, size: int, limit: int) -> MessageTooLarge:
    """The error of a value of `size` bytes where the topic allows `limit`."""
    return MessageTooLarge(
        f"topic {topic}: a message of {size} bytes, {limit} allowed; raise its max_record_bytes in [topics] "
        "and alter the topic, or send less"
    )
