"""Reads partitions by offset, outside any group."""

import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import anyio

from mentor_stream.broker.base import EARLIEST, BrokerError, Message, OnGap, TopicPartition, UnknownTopic
from mentor_stream.broker.sqlite import catalog, log
from mentor_stream.broker.sqlite.database import Database
from mentor_stream.broker.sqlite.lane import Cursor, Lane
from mentor_stream.broker.sqlite.pace import Pace
from mentor_stream.broker.sqlite.watch import Signal


@dataclass(frozen=True, slots=True)
class Course:
    """What to read, as of a version of the catalog; `partitions` says how many each topic had then."""

    cursors: list[Cursor]
    partitions: dict[str, int]
    catalog: int

    def grown(self, connection: sqlite3.Connection) -> "Course":
        """The partitions that came since, from their first messages."""
        found = {name: catalog.find(connection, name) for name in self.partitions}
        cursors = [
            Cursor(partition, place, 0)
            for name, topic in found.items()
            for partition, place in list(topic.places().items())[self.partitions[name] :]
        ]
        partitions = {name: len(topic.partitions) for name, topic in found.items()}
        return Course(cursors, partitions, catalog.version(connection))


def course(connection: sqlite3.Connection, start: Mapping[TopicPartition, int], *, follow: bool) -> Course:
    """What to read from `start` on. Raises UnknownTopic, BrokerError for what is no offset."""
    found = {name: catalog.find(connection, name) for name in {place.topic for place in start}}
    cursors: list[Cursor] = []
    for place, offset in start.items():
        partitions = found[place.topic].partitions
        if not 0 <= place.partition < len(partitions):
            raise UnknownTopic(
                f"topic {place.topic} has no partition {place.partition}: it has {len(partitions)}, from 0"
            )
        if offset < 0 and offset != EARLIEST:
            raise BrokerError(f"topic {place.topic}, partition {place.partition}: {offset} is no offset")
        partition = partitions[place.partition]
        end = log.END if follow else log.bounds(connection, partition).next
        cursors.append(Cursor(partition, place, offset, end))
    return Course(
        cursors, {name: len(topic.partitions) for name, topic in found.items()}, catalog.version(connection)
    )


class SqliteReader:
    """See broker.base.Reader."""

    def __init__(
        self, database: Database, course: Course, *, follow: bool, prefetch: int, on_gap: OnGap
    ) -> None:
        self._database, self._course, self._follow = database, course, follow
        self._lane = Lane(prefetch, on_gap)
        self._lane.assign(course.cursors)
        self._turn = anyio.Lock(fast_acquire=True)
        self._pace = Pace()
        self._news = Signal()

    @property
    def skipped(self) -> int:
        """See Reader.skipped."""
        return self._lane.skipped

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await self._pace.keep()
        if self._lane.at_hand:
            message = self._lane.next()
            self._lane.done(message)
            return message
        async with self._turn:
            while True:
                ready = await self._lane.ready(self._database)
                if self._follow and self._lane.catalog > self._course.catalog:
                    await self._grow()
                    continue
                if ready:
                    message = self._lane.next()
                    self._lane.done(message)
                    return message
                if not self._follow:
                    raise StopAsyncIteration
                await self._news.wait()

    def changed(self) -> None:
        """Something was written to the file."""
        self._lane.stale = True
        self._news.give()

    async def _grow(self) -> None:
        self._course = await self._database.read(self._course.grown)
        self._lane.assign([*self._lane.cursors.values(), *self._course.cursors])
