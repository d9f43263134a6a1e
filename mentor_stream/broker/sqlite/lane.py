"""Reads several partitions as one: fetches ahead within bounds, hands out one message at a time."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from mentor_stream.broker.base import Message, TopicPartition
from mentor_stream.broker.prefix import Prefix
from mentor_stream.broker.sqlite import log
from mentor_stream.broker.sqlite.database import Database

BUFFER_BYTES = 16 * 2**20
"""About how much a lane fetches ahead, whatever its prefetch says."""


@dataclass(eq=False, slots=True)
class Cursor:
    """How far a partition is read and dealt with. `epoch` tells one holding of it from another."""

    partition: int
    place: TopicPartition
    position: int
    end: int = log.END
    epoch: int = 0
    prefix: Prefix = field(default_factory=Prefix)


class Lane:
    """Partitions that share one bound: at most `prefetch` messages fetched ahead or not yet done."""

    def __init__(self, prefetch: int) -> None:
        self.cursors: dict[TopicPartition, Cursor] = {}
        self.stale = True
        """Something may have been appended since the last look."""
        self._prefetch = prefetch
        self._cut = False
        self._waiting: deque[tuple[Cursor, Message]] = deque()
        self._bytes = 0

    @property
    def waiting(self) -> bool:
        """Whether a message can be handed out."""
        return bool(self._waiting)

    @property
    def hungry(self) -> bool:
        """Whether there may be something to fetch and there is room for it."""
        due = self.stale or (self._cut and not self._waiting)
        return due and bool(self.cursors) and self._room > 0 and self._bytes < BUFFER_BYTES

    @property
    def _room(self) -> int:
        handed_out = sum(len(cursor.prefix) for cursor in self.cursors.values())
        return self._prefetch - handed_out - len(self._waiting)

    async def fetch(self, database: Database) -> None:
        """Take in what follows. One call at a time; `assign` may happen meanwhile."""
        self.stale = False
        spans = [log.Span(c.partition, c.place, c.position, c.end) for c in self.cursors.values()]
        cursors = dict(self.cursors)
        size = BUFFER_BYTES - self._bytes
        fetched = await database.read(partial(log.fetch, spans=spans, count=self._room, size=size))
        self._cut = fetched.cut
        for message in fetched.messages:
            cursor = cursors[message.place]
            if self._holds(cursor):
                cursor.position = message.offset + 1
                self._waiting.append((cursor, message))
                self._bytes += len(message.value)
        self._rotate()

    def next(self) -> Message:
        """Hand out the oldest message that waits."""
        cursor, message = self._waiting.popleft()
        self._bytes -= len(message.value)
        cursor.prefix.delivered(message.offset)
        return message

    def done(self, message: Message) -> None:
        """The message is dealt with; nothing when its partition is not held any more."""
        cursor = self.cursors.get(message.place)
        if cursor is not None:
            cursor.prefix.done(message.offset)

    def assign(self, cursors: Iterable[Cursor]) -> None:
        """Hold these partitions: go on with those of the same epoch, begin new ones, forget the others."""
        held = self.cursors
        self.cursors = {}
        for new in cursors:
            old = held.get(new.place)
            if old is not None and old.epoch == new.epoch:
                self.cursors[new.place] = old
            else:
                self.cursors[new.place] = new
                self.stale = True
        self._waiting = deque((cursor, message) for cursor, message in self._waiting if self._holds(cursor))
        self._bytes = sum(len(message.value) for _, message in self._waiting)

    def _holds(self, cursor: Cursor) -> bool:
        return self.cursors.get(cursor.place) is cursor

    def _rotate(self) -> None:
        """Another partition comes first next time, so that a full buffer starves none."""
        for place in list(self.cursors)[:1]:
            self.cursors[place] = self.cursors.pop(place)
