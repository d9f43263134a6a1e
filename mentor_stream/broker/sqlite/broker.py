"""The connection to one file: each part of it works over a database connection of its own."""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar
from uuid import uuid4

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import Bounds, OnGap, TopicPartition, TopicSpec, TopicState
from mentor_stream.broker.sqlite import catalog, log, membership
from mentor_stream.broker.sqlite.catalog import Topic
from mentor_stream.broker.sqlite.claim import claimed
from mentor_stream.broker.sqlite.consumer import SqliteConsumer, joined
from mentor_stream.broker.sqlite.database import Database, opened
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.membership import Membership
from mentor_stream.broker.sqlite.producer import SqliteProducer
from mentor_stream.broker.sqlite.reader import SqliteReader, course
from mentor_stream.broker.sqlite.watch import Watch

T = TypeVar("T")


class SqliteBroker:
    """See broker.base.Broker."""

    def __init__(self, location: Location, database: Database, watch: Watch) -> None:
        self._location, self._database, self._watch = location, database, watch

    @asynccontextmanager
    async def producer(self, *, max_inflight_bytes: int = 64 * 2**20) -> AsyncGenerator[SqliteProducer]:
        """See Broker.producer."""
        async with opened(self._location, durable=True) as database:
            producer = SqliteProducer(database, self._database, self._watch, max_inflight_bytes)
            async with beside(producer.run, stop=producer.stop):
                yield producer

    @asynccontextmanager
    async def consumer(
        self, topics: Sequence[str], *, group: str, prefetch: int = 64, on_gap: OnGap = "fail"
    ) -> AsyncGenerator[SqliteConsumer]:
        """See Broker.consumer."""
        ids = [(await self._of(name, lambda _, topic: topic.id)) for name in topics]
        member = Membership(group, uuid4().hex, ids, self._location.lease)
        async with opened(self._location, durable=False) as database:
            consumer = SqliteConsumer(database, member, topics, prefetch, on_gap)
            async with joined(consumer, self._watch):
                yield consumer

    @asynccontextmanager
    async def reader(
        self,
        start: Mapping[TopicPartition, int],
        *,
        follow: bool = True,
        prefetch: int = 64,
        on_gap: OnGap = "fail",
    ) -> AsyncGenerator[SqliteReader]:
        """See Broker.reader. Raises BrokerError for what is no offset."""
        begin = await self._database.read(partial(course, start=start, follow=follow))
        async with opened(self._location, durable=False) as database:
            reader = SqliteReader(database, begin, follow=follow, prefetch=prefetch, on_gap=on_gap)
            with self._watch.listening(reader.changed):
                yield reader

    def claim(self, topic: str, *, group: str, holder: str) -> AbstractAsyncContextManager[None]:
        """See Broker.claim."""
        return claimed(self._location, group, holder)

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """See Broker.create_topics."""
        existing = await self.topics()
        missing = [spec for spec in specs if spec.name not in existing]
        if missing:
            await self._database.write(partial(catalog.create, specs=missing))

    async def alter_topic(self, spec: TopicSpec) -> None:
        """See Broker.alter_topic."""
        await self._database.write(partial(catalog.alter, spec=spec))

    async def describe(self, topic: str) -> TopicState:
        """See Broker.describe."""
        return await self._of(
            topic, lambda connection, found: TopicState(found.spec, log.size(connection, found.partitions))
        )

    async def topics(self) -> Mapping[str, int]:
        """See Broker.topics."""
        found = await self._database.read(catalog.topics)
        return {name: len(topic.partitions) for name, topic in found.items()}

    async def bounds(self, topic: str) -> Mapping[TopicPartition, Bounds]:
        """See Broker.bounds."""
        return await self._of(
            topic,
            lambda connection, found: {
                place: log.bounds(connection, partition) for partition, place in found.places().items()
            },
        )

    async def offsets_at(self, topic: str, timestamp: float) -> Mapping[TopicPartition, int]:
        """See Broker.offsets_at."""
        return await self._of(
            topic,
            lambda connection, found: {
                place: log.offset_at(connection, partition, timestamp)
                for partition, place in found.places().items()
            },
        )

    async def lag(self, topic: str, group: str) -> int:
        """See Broker.lag."""
        return await self._of(
            topic, lambda connection, found: membership.lag(connection, group, found.partitions)
        )

    async def _of(self, name: str, question: Callable[[sqlite3.Connection, Topic], T]) -> T:
        """The answer to a question about one topic, on one snapshot. Raises UnknownTopic."""
        return await self._database.read(
            lambda connection: question(connection, catalog.find(connection, name))
        )


@asynccontextmanager
async def connected(location: Location) -> AsyncGenerator[SqliteBroker]:
    """The broker behind `location`, the file created when there is none."""
    async with opened(location, durable=True) as database, opened(location, durable=False) as eye:
        watch = Watch(eye)
        async with beside(watch.run, stop=watch.stop):
            yield SqliteBroker(location, database, watch)
