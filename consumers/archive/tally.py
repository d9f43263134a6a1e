"""Counts the messages of a topic as they pass, and digests by which they are known again. No I/O."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import msgspec

from consumers.archive.manifest import Held
from mentor_stream.broker import Bounds, Message

EARLIEST_TIME, LATEST_TIME = -9e9, 9e9
"""Seconds; what is beyond, nanoseconds in 64 bits cannot say."""
_FRAME = struct.Struct("<QqIIQ")
"""Offset, time in nanoseconds, lengths of key, headers and value."""


def nanoseconds(seconds: float) -> int:
    """A time as whole nanoseconds; `seconds_of` gives it back to the bit."""
    whole = int(seconds)
    return whole * 10**9 + round((seconds - whole) * 1e9)


def seconds_of(nanoseconds: int) -> float:
    """The time again: a quotient of integers is the nearest number there is."""
    return nanoseconds / 10**9


class Tally:
    """One partition."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.after = self.messages = self.bytes = 0
        self.since: float | None = None
        self.until: float | None = None
        self._sha = sha256()

    def add(self, message: Message) -> Message:
        """Count one; it comes back with the time by which it is found.

        That is no earlier than those before it, where clocks went back: look-up by time answers the same.
        Raises ValueError for one out of order.
        """
        if message.offset < self.after:
            raise ValueError(f"offset {message.offset} comes after {self.after - 1}")
        moment = min(max(message.timestamp, self.until or EARLIEST_TIME), LATEST_TIME)
        if moment != message.timestamp:
            message = replace(message, timestamp=moment)
        if self.first is None:
            self.first, self.since = message.offset, message.timestamp
        self.after, self.until = message.offset + 1, message.timestamp
        self.messages += 1
        self.bytes += message.size
        self._hash(message)
        return message

    def _hash(self, message: Message) -> None:
        headers = msgspec.msgpack.encode(message.headers) if message.headers else b""
        lengths = len(message.key), len(headers), len(message.value)
        self._sha.update(_FRAME.pack(message.offset, nanoseconds(message.timestamp), *lengths))
        self._sha.update(message.key + headers)
        self._sha.update(message.value)

    def held(self, partition: int, wanted: Bounds) -> Held:
        """What came of the messages that were wanted of it."""
        first = wanted.next if self.first is None else self.first
        return Held(
            partition=partition,
            first=first,
            next=wanted.next,
            messages=self.messages,
            bytes=self.bytes,
            missing=max(0, wanted.next - wanted.first) - self.messages,
            since=self.since,
            until=self.until,
            digest=self._sha.hexdigest(),
        )


class Tallies:
    """The partitions of one topic."""

    def __init__(self, partitions: int) -> None:
        self._of = [Tally() for _ in range(partitions)]

    def add(self, messages: Sequence[Message]) -> list[Message]:
        """Count some, and give them on. Raises ValueError for those of no partition, or out of order."""
        if any(not 0 <= m.partition < len(self._of) for m in messages):
            raise ValueError(f"a message of another partition than 0 to {len(self._of) - 1}")
        return [self._of[message.partition].add(message) for message in messages]

    def held(self, wanted: Mapping[int, Bounds]) -> tuple[Held, ...]:
        """What came of the messages that were wanted."""
        return tuple(tally.held(number, wanted[number]) for number, tally in enumerate(self._of))

    def strange(self, known: Sequence[Held]) -> Held | None:
        """The first partition that is not what an archive says of it."""
        for tally, held in zip(self._of, known, strict=True):
            wanted = Bounds(held.next - held.missing - held.messages, held.next)
            if tally.held(held.partition, wanted) != held:
                return held
        return None
