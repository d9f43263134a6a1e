"""Records in and out of a run's topics: the typed side of the broker.

Bytes that are no record of ours become dead letters here, so that every component deals with records
only, and a poisoned topic stops nobody.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import schemas
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker.base import (
    EARLIEST,
    Bounds,
    Broker,
    Consumer,
    Message,
    OnGap,
    Outgoing,
    Producer,
    Reader,
    Receipt,
    TopicPartition,
)
from mentor_stream.config import Config
from mentor_stream.metrics.catalogue import shared
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.topics import LARGEST_RECORD_BYTES, Topic, TopicsConfig

R = TypeVar("R", bound=schemas.Record)

MAX_KEPT_KEY, MAX_KEPT_ERROR = 2**14, 2**12
"""What a dead letter keeps of a key and of an error text."""
LETTER_BYTES = 2**16
"""More than all of a dead letter but its value takes."""

Start = Literal["earliest", "latest"] | float | Mapping[TopicPartition, int]
"""Where group-less reading begins: an end, a time in seconds since the epoch, or exact offsets."""


@dataclass(frozen=True, slots=True)
class Delivery(Generic[R]):
    """A record and the message it came in; `done` releases it (a reader's does nothing)."""

    record: R
    message: Message
    release: Callable[[Message], None]

    @property
    def size(self) -> int:
        """Bytes of the message."""
        return self.message.size

    def done(self) -> None:
        """The record's work is complete and durable: it need not come again."""
        self.release(self.message)


class Stream:
    """One run's topics on one broker, written as one component."""

    def __init__(
        self, broker: Broker, producer: Producer, run: str, component: str, settings: TopicsConfig
    ) -> None:
        self.broker, self.run, self.component, self.settings = broker, run, component, settings
        self._producer = producer
        self.records_skipped = 0
        """Records that retention took before this component came to read them (topics.on_gap)."""

    async def publish(self, topic: Topic[R], record: R) -> Receipt:
        """Append a record; on return it is durable. Raises OversizedRecord, InvalidRecord, BrokerError."""
        with _measured(topic):
            return await self._producer.send(*self._outgoing(topic, record))

    async def publish_all(self, topic: Topic[R], records: Iterable[R]) -> list[Receipt]:
        """Append records in their order; on return all are durable. Raises what `publish` does."""
        with _measured(topic):
            return await self._producer.send_all([self._outgoing(topic, record) for record in records])

    def _outgoing(self, topic: Topic[R], record: R) -> Outgoing:
        data = schemas.encode(record, max_bytes=self.settings.max_bytes(topic))
        return Outgoing(self.name(topic), topic.key(record).encode(), data)

    @asynccontextmanager
    async def consumer(
        self, *wanted: Topic[R], prefetch: int = 64
    ) -> AsyncGenerator[AsyncIterator[Delivery[R]]]:
        """Deliveries of the wanted topics (one record type), the first topic's first, as a member of the one
        group that works them off."""
        (group,) = {topic.group_of(self.run) for topic in wanted}
        names = [self.name(topic) for topic in wanted]
        kinds = {self.name(topic): topic.record for topic in wanted}
        async with self.broker.consumer(
            names, group=group, prefetch=prefetch, on_gap=self.settings.on_gap
        ) as messages:
            yield self._deliveries(messages, kinds, messages.done)

    @asynccontextmanager
    async def reader(
        self,
        *wanted: Topic[R],
        start: Start,
        follow: bool = True,
        prefetch: int = 64,
        on_gap: OnGap | None = None,
    ) -> AsyncGenerator[AsyncIterator[Delivery[R]]]:
        """Deliveries of the wanted topics from `start`, outside any group; gaps as configured or `on_gap`."""
        kinds = {self.name(topic): topic.record for topic in wanted}
        offsets: dict[TopicPartition, int] = {}
        for topic in wanted:
            offsets.update(await self.offsets(topic, start))
        async with self.broker.reader(
            offsets, follow=follow, prefetch=prefetch, on_gap=on_gap or self.settings.on_gap
        ) as messages:
            yield self._deliveries(messages, kinds, lambda _: None)

    async def offsets(self, topic: Topic[R], start: Start) -> dict[TopicPartition, int]:
        """The offsets that `start` means; partitions that a mapping leaves out begin with what is kept."""
        bounds = await self.bounds(topic)
        if start == "latest":
            return {place: b.next for place, b in bounds.items()}
        if isinstance(start, float | int):
            return dict(await self.broker.offsets_at(self.name(topic), float(start)))
        if start == "earliest":
            return dict.fromkeys(bounds, EARLIEST)
        return {place: start.get(place, EARLIEST) for place in bounds}

    async def tail(self, topic: Topic[R], count: int = 1) -> dict[TopicPartition, int]:
        """The offsets from which reading begins with the last `count` kept records of every partition."""
        bounds = await self.bounds(topic)
        return {place: max(b.first, b.next - count) for place, b in bounds.items()}

    async def bounds(self, topic: Topic[R]) -> Mapping[TopicPartition, Bounds]:
        """The kept range of every partition of a topic."""
        return await self.broker.bounds(self.name(topic))

    async def lag(self, topic: Topic[R]) -> int:
        """Records that the topic's group has yet to deal with."""
        return await self.broker.lag(self.name(topic), topic.group_of(self.run))

    def name(self, topic: Topic[R]) -> str:
        """The topic's name on the broker."""
        return topic.of(self.run)

    async def _deliveries(
        self,
        messages: Consumer | Reader,
        kinds: Mapping[str, type[R]],
        release: Callable[[Message], None],
    ) -> AsyncIterator[Delivery[R]]:
        told = 0
        async for message in messages:
            self.records_skipped, told = self.records_skipped + messages.skipped - told, messages.skipped
            try:
                record = schemas.decode(message.value, kinds[message.topic], max_bytes=LARGEST_RECORD_BYTES)
            except schemas.RecordError as error:
                await self.bury(message, error)
                release(message)
                continue
            yield Delivery(record, message, release)

    async def bury(self, message: Message, error: schemas.RecordError) -> None:
        """Keep a record that cannot be dealt with, and why, as a dead letter."""
        most = self.settings.max_bytes(topics.DEAD_LETTERS)
        room = max(most - LETTER_BYTES, most // 2)  # the letter itself must fit
        value, key = message.value[:room], message.key[:MAX_KEPT_KEY]
        letter = schemas.DeadLetter(
            source=self.component,
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            error=f"{type(error).__name__}: {error}"[:MAX_KEPT_ERROR],
            key=key,
            value=value,
            whole=(key, value) == (message.key, message.value),
            time=time.time(),
        )
        await self.publish(topics.DEAD_LETTERS, letter)
        _, _, short = message.topic.rpartition(".")
        READINGS.add(shared.DEAD_LETTERS, 1, short)


@contextmanager
def _measured(topic: Topic[Any]) -> Generator[None]:
    """Measure publishing to a topic."""
    try:
        with READINGS.timing(shared.PUBLISH_SECONDS, topic.name):
            yield
    except Exception:
        READINGS.add(shared.PUBLISH_FAILURES, 1, topic.name)
        raise


@asynccontextmanager
async def connect(
    url: str, run: str, component: str, settings: TopicsConfig | None = None
) -> AsyncGenerator[Stream]:
    """The stream of `run` on the broker behind `url`; missing topics are created, or waited for."""
    settings = settings or TopicsConfig()
    specs = settings.specs(run)
    async with brokers.connect(url) as broker:
        if settings.create:
            await broker.create_topics(specs)
        else:
            await brokers.wait_for_topics(broker, [spec.name for spec in specs])
        async with broker.producer() as producer:
            yield Stream(broker, producer, run, component, settings)


def opened(config: Config, component: str) -> AbstractAsyncContextManager[Stream]:
    """The stream that the config describes, as one of the run's components."""
    return connect(config.run.broker, config.run.name, component, config.of(TopicsConfig))
