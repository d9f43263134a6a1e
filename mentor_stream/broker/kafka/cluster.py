"""A Kafka cluster as the contract's Broker."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kafka import KafkaAdminClient

from mentor_stream.broker.base import (
    Bounds,
    Broker,
    Consumer,
    OnGap,
    Producer,
    Reader,
    TopicPartition,
    TopicSpec,
    TopicState,
    UnknownTopic,
)
from mentor_stream.broker.kafka import headers
from mentor_stream.broker.kafka.admin import Admin
from mentor_stream.broker.kafka.claim import claimed
from mentor_stream.broker.kafka.client import opened
from mentor_stream.broker.kafka.consumer import consuming
from mentor_stream.broker.kafka.lane import group_id
from mentor_stream.broker.kafka.producer import producing
from mentor_stream.broker.kafka.quiet import quiet
from mentor_stream.broker.kafka.reader import reading
from mentor_stream.broker.kafka.settings import ConnectionSettings, parse

QUESTION_MS = 5000
"""A node that hangs is asked for so long before another one is."""


class KafkaBroker:
    """See base.py for the promises. Each producer, consumer and reader has a connection of its own."""

    def __init__(self, settings: ConnectionSettings, admin: Admin) -> None:
        self._settings, self._admin = settings, admin

    def producer(self, *, max_inflight_bytes: int = 64 * 2**20) -> AbstractAsyncContextManager[Producer]:
        """A producer for the block."""
        return producing(self._settings, self._admin, max_inflight_bytes)

    @asynccontextmanager
    async def consumer(
        self, topics: Sequence[str], *, group: str, prefetch: int = 64, on_gap: OnGap = "fail"
    ) -> AsyncGenerator[Consumer]:
        """A member of the group for the block. Raises UnknownTopic."""
        wanted = list(dict.fromkeys(topics))
        for topic in wanted:
            await self._admin.bounds(topic)
        async with consuming(self._settings, wanted, group, prefetch=prefetch, on_gap=on_gap) as consumer:
            yield consumer

    @asynccontextmanager
    async def reader(
        self,
        start: Mapping[TopicPartition, int],
        *,
        follow: bool = True,
        prefetch: int = 64,
        on_gap: OnGap = "fail",
    ) -> AsyncGenerator[Reader]:
        """A reader for the block. Raises UnknownTopic."""
        bounds: dict[TopicPartition, Bounds] = {}
        for topic in {place.topic for place in start}:
            bounds |= await self._admin.bounds(topic)
        for place in start.keys() - bounds.keys():
            raise UnknownTopic(f"topic {place.topic} has no partition {place.partition}")
        async with reading(
            self._settings, start, bounds, follow=follow, prefetch=prefetch, on_gap=on_gap
        ) as reader:
            yield reader

    def claim(self, topic: str, *, group: str, holder: str) -> AbstractAsyncContextManager[None]:
        """See Broker.claim."""
        return claimed(self._settings, self._admin, topic, group, holder)

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """Create those that do not exist yet."""
        await self._admin.create_topics(specs)

    async def alter_topic(self, spec: TopicSpec) -> None:
        """Partitions, retention and size of an existing topic."""
        await self._admin.alter_topic(spec)

    async def describe(self, topic: str) -> TopicState:
        """The topic as it is."""
        return await self._admin.describe(topic)

    async def topics(self) -> Mapping[str, int]:
        """All topics and their partition counts."""
        return await self._admin.topics()

    async def bounds(self, topic: str) -> Mapping[TopicPartition, Bounds]:
        """The kept range of every partition."""
        return await self._admin.bounds(topic)

    async def offsets_at(self, topic: str, timestamp: float) -> Mapping[TopicPartition, int]:
        """Per partition the first offset at or after the time."""
        return await self._admin.offsets_at(topic, timestamp)

    async def lag(self, topic: str, group: str) -> int:
        """Messages the group has not committed."""
        return await self._admin.lag(topic, group_id(group, topic))


@asynccontextmanager
async def connect(url: str, *, create: bool = True) -> AsyncGenerator[Broker]:
    """The cluster behind a kafka:// URL (settings.py); we never create one.

    Raises BrokerUnavailable after connect_timeout.
    """
    async with connected(parse(url)) as broker:
        yield broker


@asynccontextmanager
async def connected(settings: ConnectionSettings) -> AsyncGenerator[Broker]:
    """The cluster that these reach. Raises BrokerUnavailable after connect_timeout."""
    quiet()
    headers.install()
    options = {"request_timeout_ms": QUESTION_MS}
    async with opened(KafkaAdminClient, KafkaAdminClient.close, settings, **options) as client:
        yield KafkaBroker(settings, Admin(client))
