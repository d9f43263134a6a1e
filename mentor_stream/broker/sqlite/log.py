"""The messages themselves: appending, reading, finding by time, forgetting. Runs in worker threads.

Every function takes a connection inside a transaction and partition ids of the catalog.
"""

import sqlite3
import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

import msgspec

from mentor_stream.broker.base import Bounds, Message, TopicPartition

_OFFSET_BITS = 40
END = 2**_OFFSET_BITS
"""Above every offset."""
_TRIM_ROWS = 1_000
"""Most messages that one trim removes: it holds the write lock."""


class Entry(NamedTuple):
    """A message on its way into a partition."""

    partition: int
    key: bytes
    value: bytes
    headers: bytes

    @property
    def size(self) -> int:
        """Bytes of the message."""
        return len(self.key) + len(self.headers) + len(self.value)


class Span(NamedTuple):
    """What to read next of a partition: offsets from `first` up to, not including, `end`."""

    partition: int
    place: TopicPartition
    first: int
    end: int


class Fetched(NamedTuple):
    """Messages of several spans, oldest first; `cut` when the spans may hold more already."""

    messages: list[Message]
    cut: bool


def pack_headers(headers: Sequence[tuple[str, bytes]]) -> bytes:
    """Headers as they are kept: nothing for none."""
    return msgspec.msgpack.encode(headers) if headers else b""


def _unpack_headers(packed: bytes) -> tuple[tuple[str, bytes], ...]:
    return msgspec.msgpack.decode(packed, type=tuple[tuple[str, bytes], ...]) if packed else ()


def append(connection: sqlite3.Connection, entries: Sequence[Entry]) -> list[int]:
    """Append in the order given; their offsets. Times in a partition never decrease, as clocks may."""
    ends = {
        entry.partition: connection.execute(
            "SELECT next, max(latest, ?), bytes FROM partitions WHERE id = ?", (time.time(), entry.partition)
        ).fetchone()
        for entry in entries
    }
    offsets: list[int] = []
    for entry in entries:
        offset, latest, total = ends[entry.partition]
        connection.execute(
            "INSERT INTO messages (id, time, key, headers, value) VALUES (?, ?, ?, ?, ?)",
            (_row(entry.partition, offset), latest, entry.key, entry.headers, entry.value),
        )
        ends[entry.partition] = offset + 1, latest, total + entry.size
        offsets.append(offset)
    connection.executemany(
        "UPDATE partitions SET next = ?, latest = ?, bytes = ? WHERE id = ?",
        [(*end, partition) for partition, end in ends.items()],
    )
    return offsets


def fetch(connection: sqlite3.Connection, spans: Sequence[Span], *, count: int, size: int) -> Fetched:
    """Up to `count` messages and about `size` bytes from the beginnings of the spans.

    The spans share `count` evenly, and what one leaves over goes to the next. Where retention has
    removed the first offsets, a span continues with what is kept.
    """
    messages: list[Message] = []
    cut = False
    for index, span in enumerate(spans):
        share = -(-(count - len(messages)) // (len(spans) - index))
        found = _read(connection, span, share, size)
        messages.extend(found)
        size -= sum(len(message.value) for message in found)
        cut = cut or len(found) == share or size <= 0
        if size <= 0:
            break
    messages.sort(key=lambda message: message.timestamp)
    return Fetched(messages, cut)


def _read(connection: sqlite3.Connection, span: Span, count: int, size: int) -> list[Message]:
    rows = connection.execute(
        "SELECT id, time, key, headers, value FROM messages WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (_row(span.partition, span.first), _row(span.partition, span.end), count),
    )
    messages: list[Message] = []
    with closing(rows):  # a statement left half read would keep the snapshot, and the WAL from shrinking
        for row, timestamp, key, headers, value in rows:
            messages.append(Message(*span.place, row % END, key, value, timestamp, _unpack_headers(headers)))
            size -= len(value)
            if size <= 0:
                break
    return messages


def bounds(connection: sqlite3.Connection, partition: int) -> Bounds:
    """The range of offsets that is kept."""
    return Bounds(
        *connection.execute("SELECT first, next FROM partitions WHERE id = ?", (partition,)).fetchone()
    )


def offset_at(connection: sqlite3.Connection, partition: int, timestamp: float) -> int:
    """The first offset appended at or after `timestamp` (seconds since the epoch), or the end."""

    def appended(offset: int) -> float:
        found = connection.execute("SELECT time FROM messages WHERE id = ?", (_row(partition, offset),))
        return found.fetchone()[0]

    first, end = bounds(connection, partition)
    return first + bisect_left(range(first, end), timestamp, key=appended)


def trim(
    connection: sqlite3.Connection, partition: int, *, oldest: float | None, most_bytes: int | None
) -> None:
    """Forget messages appended before `oldest` (seconds), and the first ones above `most_bytes` in all."""
    first, total = connection.execute(
        "SELECT first, bytes FROM partitions WHERE id = ?", (partition,)
    ).fetchone()
    sizes = connection.execute(
        "SELECT time, length(key) + length(headers) + length(value) FROM messages"
        " WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (_row(partition, first), _row(partition, END), _TRIM_ROWS),
    ).fetchall()
    kept = first
    for timestamp, size in sizes:
        expired = oldest is not None and timestamp < oldest
        if not expired and (most_bytes is None or total <= most_bytes):
            break
        kept, total = kept + 1, total - size
    if kept > first:
        connection.execute(
            "DELETE FROM messages WHERE id >= ? AND id < ?", (_row(partition, first), _row(partition, kept))
        )
        connection.execute(
            "UPDATE partitions SET first = ?, bytes = ? WHERE id = ?", (kept, total, partition)
        )


def _row(partition: int, offset: int) -> int:
    return (partition << _OFFSET_BITS) + offset
