"""The messages themselves: appending, reading, finding by time, forgetting. Runs in worker threads.

Every function takes a connection inside a transaction and partition ids of the catalog.
"""

import sqlite3
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import closing
from math import inf
from typing import NamedTuple

import msgspec

from mentor_stream.broker.base import EARLIEST, Bounds, BrokerError, Message, TopicPartition
from mentor_stream.broker.sqlite import catalog
from mentor_stream.broker.sqlite.compression import Stored, unpack

_OFFSET_BITS = 40
END = 2**_OFFSET_BITS
"""Above every offset."""
_INSERT = "INSERT INTO messages (id, time, key, headers, stored, codec) VALUES (?, ?, ?, ?, ?, ?)"


class Entry(NamedTuple):
    """A message on its way into a partition."""

    partition: int
    key: bytes
    headers: bytes
    value: Stored

    @property
    def size(self) -> int:
        """Bytes that it takes in the file."""
        return len(self.key) + len(self.headers) + len(self.value.data)


class Span(NamedTuple):
    """What to read next of a partition: offsets from `first` (or EARLIEST) up to, not including, `end`."""

    partition: int
    place: TopicPartition
    first: int
    end: int


class Fetched(NamedTuple):
    """Messages of several spans, oldest first."""

    messages: list[Message]
    cut: bool
    """The spans may hold more already."""
    kept: dict[TopicPartition, Bounds]
    """What is kept of the spans that begin at EARLIEST, and of those that begin at a gap: of the latter
    there are no messages."""
    catalog: int
    """The catalog's version at the time."""


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
    rows: list[tuple[int, float, bytes, bytes, bytes, int]] = []
    for entry in entries:
        offset, latest, total = ends[entry.partition]
        row = _row(entry.partition, offset)
        rows.append((row, latest, entry.key, entry.headers, entry.value.data, entry.value.codec))
        ends[entry.partition] = offset + 1, latest, total + entry.size
        offsets.append(offset)
    connection.executemany(_INSERT, rows)
    connection.executemany(
        "UPDATE partitions SET next = ?, latest = ?, bytes = ? WHERE id = ?",
        [(*end, partition) for partition, end in ends.items()],
    )
    return offsets


def put_back(
    connection: sqlite3.Connection, entries: Sequence[Entry], places: Sequence[tuple[int, float]]
) -> None:
    """Put messages where they stood elsewhere: at these offsets and times, which rise within a partition.

    Raises BrokerError for what is no offset: it would be in another partition.
    """
    for offset, _ in places:
        if not 0 <= offset < END:
            raise BrokerError(f"{offset} is no offset: they go from 0 to {END - 1}")
    came: dict[int, tuple[float, int]] = {}
    rows: list[tuple[int, float, bytes, bytes, bytes, int]] = []
    for entry, (offset, time_) in zip(entries, places, strict=True):
        key, headers, value = entry.key, entry.headers, entry.value
        rows.append((_row(entry.partition, offset), time_, key, headers, value.data, value.codec))
        came[entry.partition] = time_, came.get(entry.partition, (0.0, 0))[1] + entry.size
    connection.executemany(_INSERT, rows)
    connection.executemany(
        "UPDATE partitions SET latest = ?, bytes = bytes + ? WHERE id = ?",
        [(*of_all, partition) for partition, of_all in came.items()],
    )


def end_at(connection: sqlite3.Connection, partition: int, end: int) -> None:
    """Let the partition begin with its first message and end at `end`; one without any keeps nothing."""
    (row,) = connection.execute(
        "SELECT min(id) FROM messages WHERE id >= ? AND id < ?", (_row(partition, 0), _row(partition, END))
    ).fetchone()
    first = end if row is None else row % END
    connection.execute("UPDATE partitions SET first = ?, next = ? WHERE id = ?", (first, end, partition))


def empty(connection: sqlite3.Connection, partition: int, most: int) -> bool:
    """Remove messages, at most so many; whether there were any."""
    taken = connection.execute(
        "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE id >= ? AND id < ? LIMIT ?)",
        (_row(partition, 0), _row(partition, END), most),
    )
    return taken.rowcount > 0


def fetch(connection: sqlite3.Connection, spans: Sequence[Span], *, count: int, size: int) -> Fetched:
    """Up to `count` messages and about `size` bytes from the beginnings of the spans.

    The spans share `count` evenly, and what one leaves over goes to the next.
    """
    messages: list[Message] = []
    cut, kept = False, dict[TopicPartition, Bounds]()
    for index, span in enumerate(spans):
        if size <= 0:
            cut = True
            break
        share = -(-(count - len(messages)) // (len(spans) - index))
        found = _read(connection, span, share, size)
        gap = _gap(connection, span, found)
        if gap is not None:
            kept[span.place] = gap
            found = found if span.first == EARLIEST else []
        messages.extend(found)
        size -= sum(message.size for message in found)
        cut = cut or len(found) == share
    messages.sort(key=lambda message: message.timestamp)
    return Fetched(messages, cut or size <= 0, kept, catalog.version(connection))


def _gap(connection: sqlite3.Connection, span: Span, found: Sequence[Message]) -> Bounds | None:
    """What the partition keeps, when that is not what the span begins with."""
    if span.first == span.end or (found and found[0].offset == span.first):
        return None
    kept = bounds(connection, span.partition)
    return None if kept.first <= span.first <= kept.next else kept


def _read(connection: sqlite3.Connection, span: Span, count: int, size: int) -> list[Message]:
    rows = connection.execute(
        "SELECT id, time, key, headers, stored, codec FROM messages WHERE id >= ? AND id < ?"
        " ORDER BY id LIMIT ?",
        (_row(span.partition, max(span.first, 0)), _row(span.partition, span.end), count),
    )
    messages: list[Message] = []
    with closing(rows):  # a statement left half read would keep the snapshot, and the WAL from shrinking
        for row, timestamp, key, headers, data, codec in rows:
            value = unpack(Stored(codec, data)) if codec else data
            messages.append(Message(*span.place, row % END, key, value, timestamp, _unpack_headers(headers)))
            size -= messages[-1].size
            if size <= 0:
                break
    return messages


def bounds(connection: sqlite3.Connection, partition: int) -> Bounds:
    """The range of offsets that is kept."""
    return Bounds(
        *connection.execute("SELECT first, next FROM partitions WHERE id = ?", (partition,)).fetchone()
    )


def size(connection: sqlite3.Connection, partitions: Iterable[int]) -> int:
    """Bytes that the messages of the partitions take."""
    sizes = (
        connection.execute("SELECT bytes FROM partitions WHERE id = ?", (partition,)).fetchone()[0]
        for partition in partitions
    )
    return sum(sizes)


def offset_at(connection: sqlite3.Connection, partition: int, timestamp: float) -> int:
    """The first offset appended at or after `timestamp` (seconds since the epoch), or the end."""

    def appended(offset: int) -> float:
        """Of the next message there: what was put back from a cluster may have holes."""
        found = connection.execute(
            "SELECT time FROM messages WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
            (_row(partition, offset), _row(partition, END)),
        ).fetchone()
        return found[0] if found else inf

    first, end = bounds(connection, partition)
    return first + bisect_left(range(first, end), timestamp, key=appended)


def trim(
    connection: sqlite3.Connection, partition: int, *, oldest: float | None, most_bytes: int | None, most: int
) -> bool:
    """Forget messages appended before `oldest` (seconds), and the first ones above `most_bytes` in all.

    At most `most` messages at once: this holds the write lock. True when that was not enough.
    """
    first, total = connection.execute(
        "SELECT first, bytes FROM partitions WHERE id = ?", (partition,)
    ).fetchone()
    rows = connection.execute(
        "SELECT time, length(key) + length(headers) + length(stored) FROM messages"
        " WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (_row(partition, first), _row(partition, END), most),
    )
    kept = first
    with closing(rows):
        for timestamp, size in rows:
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
    return kept - first == most


def _row(partition: int, offset: int) -> int:
    return (partition << _OFFSET_BITS) + offset
