"""Reads several partitions as one: fetches ahead within bounds, hands out one message at a time."""

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from mentor_stream.broker.base import (
    BUFFER_BYTES,
    EARLIEST,
    Bounds,
    Message,
    OffsetGap,
    OnGap,
    TopicPartition,
)
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.prefix import Prefix
from mentor_stream.broker.sqlite import log
from mentor_stream.broker.sqlite.database import Database

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Cursor:
    """How far a partition is read and dealt with. `epoch` tells one holding of it from another."""

    partition: int
    place: TopicPartition
    position: int
    """The offset to fetch next, or EARLIEST."""
    end: int = log.END
    epoch: int = 0
    stopped: bool = False
    """A gap waits to be told; behind it nothing is fetched."""
    prefix: Prefix = field(default_factory=Prefix)


class Lane:
    """Partitions that share one bound: at most `prefetch` messages fetched ahead or not yet done."""

    def __init__(self, prefetch: int, on_gap: OnGap) -> None:
        self.cursors: dict[TopicPartition, Cursor] = {}
        self.stale = True
        """Something may have been appended since the last look."""
        self.skipped = 0
        """Messages that were gone when their turn came."""
        self.catalog = -1
        """The catalog's version at the last fetch."""
        self._prefetch, self._on_gap = prefetch, on_gap
        self._cut = False
        self._waiting: deque[tuple[Cursor, Message | Gap]] = deque()
        self._bytes = 0

    @property
    def at_hand(self) -> bool | None:
        """Whether a message can be handed out; None when only `ready` can tell."""
        if self._hungry or (self._waiting and isinstance(self._waiting[0][1], Gap)):
            return None
        return bool(self._waiting)

    async def ready(self, database: Database) -> bool:
        """Fetch if something may have come; whether there is a message, or a gap, to hand out.

        One call at a time; `assign` may happen meanwhile.
        """
        while self._hungry or self._waiting:
            if self._hungry:
                await self._fetch(database)
            if self._waiting and not self._passes_gap():
                return True
        return False

    @property
    def _hungry(self) -> bool:
        """Whether there may be something to fetch and there is room for it."""
        due = self.stale or (self._cut and not self._waiting)
        return due and bool(self.cursors) and self._room > 0 and self._bytes < BUFFER_BYTES

    @property
    def _room(self) -> int:
        handed_out = sum(len(cursor.prefix) for cursor in self.cursors.values())
        return self._prefetch - handed_out - len(self._waiting)

    async def _fetch(self, database: Database) -> None:
        self.stale = False
        cursors = {place: cursor for place, cursor in self.cursors.items() if not cursor.stopped}
        spans = [log.Span(c.partition, c.place, c.position, c.end) for c in cursors.values()]
        size = BUFFER_BYTES - self._bytes
        fetched = await database.read(partial(log.fetch, spans=spans, count=self._room, size=size))
        self._cut, self.catalog = fetched.cut, fetched.catalog
        for message in fetched.messages:
            cursor = cursors[message.place]
            if self._holds(cursor):
                cursor.position = message.offset + 1
                self._waiting.append((cursor, message))
                self._bytes += message.size
        for place, kept in fetched.kept.items():
            if self._holds(cursors[place]):
                self._move(cursors[place], kept)
        self._rotate()

    def next(self) -> Message:
        """Hand out what `ready` has found. Raises OffsetGap for a gap, again and again."""
        cursor, message = self._waiting[0]
        if isinstance(message, Gap):
            raise OffsetGap(message.error)
        self._waiting.popleft()
        self._bytes -= message.size
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
        self._bytes = sum(message.size for _, message in self._waiting if isinstance(message, Message))

    def _move(self, cursor: Cursor, kept: Bounds) -> None:
        """Go where the partition has messages, or fetch no more, when it has none at the cursor."""
        if kept.first <= cursor.position <= kept.next:
            return
        if cursor.position != EARLIEST:
            self._waiting.append((cursor, Gap(cursor.place, cursor.position, kept)))
            cursor.stopped = self._on_gap == "fail"
        cursor.position = min(kept.first, cursor.end)
        self.stale = True

    def _passes_gap(self) -> bool:
        """Whether what waits first is a gap, and is passed."""
        cursor, gap = self._waiting[0]
        if self._on_gap == "fail" or not isinstance(gap, Gap):
            return False
        self._waiting.popleft()
        missing = gap.missing(cursor.end)
        logger.warning("%s; going on there, %d messages are skipped", gap, missing)
        if missing:
            self.skipped += missing
            last = gap.position + missing - 1
            cursor.prefix.delivered(last)  # so that what was skipped is committed
            cursor.prefix.done(last)
        return True

    def _holds(self, cursor: Cursor) -> bool:
        return self.cursors.get(cursor.place) is cursor

    def _rotate(self) -> None:
        """Another partition comes first next time, so that a full buffer starves none."""
        for place in list(self.cursors)[:1]:
            self.cursors[place] = self.cursors.pop(place)
