"""The connection to one file: each part of it works over a database connection of its own."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import (
    EARLIEST,
    Bounds,
    BrokerError,
    OnGap,
    TopicPartition,
    TopicSpec,
    TopicState,
    UnknownTopic,
)
from mentor_stream.broker.sqlite import log, membership
from mentor_stream.broker.sqlite.catalog import Catalog
from mentor_stream.broker.sqlite.consumer import SqliteConsumer, joined
from mentor_stream.broker.sqlite.database import Database, opened
from mentor_stream.broker.sqlite.lane import Cursor
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.membership import Membership
from mentor_stream.broker.sqlite.producer import SqliteProducer
from mentor_stream.broker.sqlite.reader import SqliteReader
from mentor_stream.broker.sqlite.watch import Watch


class SqliteBroker:
    """See broker.base.Broker."""

    def __init__(self, location: Location, database: Database, watch: Watch) -> None:
        self._location, self._database, self._watch = location, database, watch
        self._catalog = Catalog(database)

    @asynccontextmanager
    async def producer(self, *, max_inflight_bytes: int = 64 * 2**20) -> AsyncIterator[SqliteProducer]:
        """See Broker.producer."""
        async with opened(self._location, durable=True) as database:
            producer = SqliteProducer(database, self._catalog, self._watch, max_inflight_bytes)
            async with beside(producer.run, stop=producer.stop):
                yield producer

    @asynccontextmanager
    async def consumer(
        self, topics: Sequence[str], *, group: str, prefetch: int = 64, on_gap: OnGap = "fail"
    ) -> AsyncIterator[SqliteConsumer]:
        """See Broker.consumer."""
        found = [await self._catalog.topic(name) for name in topics]
        member = Membership(group, uuid4().hex, [topic.id for topic in found], self._location.lease)
        async with opened(self._location, durable=False) as database:
            consumer = SqliteConsumer(database, member, found, prefetch)
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
    ) -> AsyncIterator[SqliteReader]:
        """See Broker.reader. Raises BrokerError for an offset that no message can have had yet."""
        cursors = [await self._cursor(place, offset, follow) for place, offset in start.items()]
        async with opened(self._location, durable=False) as database:
            reader = SqliteReader(database, cursors, follow=follow, prefetch=prefetch)
            with self._watch.listening(reader.changed):
                yield reader

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """See Broker.create_topics."""
        await self._catalog.create(specs)

    async def alter_topic(self, spec: TopicSpec) -> None:
        """See Broker.alter_topic."""
        raise NotImplementedError

    async def describe(self, topic: str) -> TopicState:
        """See Broker.describe."""
        raise NotImplementedError

    async def topics(self) -> Mapping[str, int]:
        """See Broker.topics."""
        return {topic.name: len(topic.partitions) for topic in await self._catalog.all()}

    async def bounds(self, topic: str) -> Mapping[TopicPartition, Bounds]:
        """See Broker.bounds."""
        places = (await self._catalog.topic(topic)).places()
        return await self._database.read(
            lambda connection: {
                place: log.bounds(connection, partition) for partition, place in places.items()
            }
        )

    async def offsets_at(self, topic: str, timestamp: float) -> Mapping[TopicPartition, int]:
        """See Broker.offsets_at."""
        places = (await self._catalog.topic(topic)).places()
        return await self._database.read(
            lambda connection: {
                place: log.offset_at(connection, partition, timestamp) for partition, place in places.items()
            }
        )

    async def lag(self, topic: str, group: str) -> int:
        """See Broker.lag."""
        partitions = (await self._catalog.topic(topic)).partitions
        return await self._database.read(partial(membership.lag, group=group, partitions=partitions))

    async def _cursor(self, place: TopicPartition, offset: int, follow: bool) -> Cursor:
        bounds = (await self.bounds(place.topic)).get(place)
        if bounds is None:
            raise UnknownTopic(
                f"{self._location.path}: topic {place.topic} has no partition {place.partition}"
            )
        if offset == EARLIEST:
            offset = bounds.first
        if not 0 <= offset <= bounds.next:
            raise BrokerError(
                f"{self._location.path}: {place.topic}, partition {place.partition} ends at offset "
                f"{bounds.next}, before offset {offset}: is this the stream that the position came from?"
            )
        partition = (await self._catalog.topic(place.topic)).partitions[place.partition]
        return Cursor(partition, place, offset, end=log.END if follow else bounds.next)


@asynccontextmanager
async def connected(location: Location) -> AsyncIterator[SqliteBroker]:
    """The broker behind `location`, the file created when there is none."""
    async with opened(location, durable=True) as database, opened(location, durable=False) as eye:
        watch = Watch(eye)
        async with beside(watch.run, stop=watch.stop):
            yield SqliteBroker(location, database, watch)
