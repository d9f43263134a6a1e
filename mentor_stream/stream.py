"""Records in and out of a run's topics: the typed side of the broker.

Bytes that are no record of ours become dead letters here, so that every component deals with records
only, and a poisoned topic stops nobody.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import schemas
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker.base import Bounds, Broker, Message, Producer, Receipt, TopicPartition
from mentor_stream.topics import MAX_RECORD_BYTES, Topic

R = TypeVar("R", bound=schemas.Record)

MAX_KEPT_VALUE = MAX_RECORD_BYTES // 2
"""What a dead letter keeps of a value, a key and an error text, so that it is itself no oversized record."""
MAX_KEPT_KEY, MAX_KEPT_ERROR = 2**16, 2**12

Start = Literal["earliest", "latest"] | float | Mapping[TopicPartition, int]
"""Where group-less reading begins: an end, a time in seconds since the epoch, or exact offsets."""


@dataclass(frozen=True, slots=True)
class Delivery(Generic[R]):
    """A record and the message it came in; `done` releases it (a reader's does nothing)."""

    record: R
    message: Message
    release: Callable[[Message], None]

    def done(self) -> None:
        """The record's work is complete and durable: it need not come again."""
        self.release(self.message)


class Stream:
    """One run's topics on one broker, written as one component."""

    def __init__(self, broker: Broker, producer: Producer, run: str, component: str) -> None:
        self.broker, self.run, self.component = broker, run, component
        self._producer = producer

    async def publish(self, topic: Topic[R], record: R) -> Receipt:
        """Append a record; on return it is durable. Raises OversizedRecord, InvalidRecord, BrokerError."""
        data = schemas.encode(record, max_bytes=MAX_RECORD_BYTES)
        return await self._producer.send(self.name(topic), topic.key(record).encode(), data)

    @asynccontextmanager
    async def consumer(
        self, *wanted: Topic[R], group: str, prefetch: int = 64
    ) -> AsyncIterator[AsyncIterator[Delivery[R]]]:
        """Deliveries of the wanted topics (one record type), the first topic's first, as a group member."""
        names = [self.name(topic) for topic in wanted]
        kinds = {self.name(topic): topic.record for topic in wanted}
        async with self.broker.consumer(names, group=f"{self.run}.{group}", prefetch=prefetch) as messages:
            yield self._deliveries(aiter(messages), kinds, messages.done)

    @asynccontextmanager
    async def reader(
        self, *wanted: Topic[R], start: Start, follow: bool = True, prefetch: int = 64
    ) -> AsyncIterator[AsyncIterator[Delivery[R]]]:
        """Deliveries of the wanted topics from `start`, outside any group."""
        kinds = {self.name(topic): topic.record for topic in wanted}
        offsets: dict[TopicPartition, int] = {}
        for topic in wanted:
            offsets.update(await self.offsets(topic, start))
        async with self.broker.reader(offsets, follow=follow, prefetch=prefetch) as messages:
            yield self._deliveries(aiter(messages), kinds, lambda _: None)

    async def offsets(self, topic: Topic[R], start: Start) -> dict[TopicPartition, int]:
        """The offsets that `start` means; partitions that a mapping leaves out begin at their first."""
        bounds = await self.bounds(topic)
        if start == "latest":
            return {place: b.next for place, b in bounds.items()}
        if isinstance(start, float | int):
            return dict(await self.broker.offsets_at(self.name(topic), float(start)))
        given = start if isinstance(start, Mapping) else {}
        return {place: given.get(place, b.first) for place, b in bounds.items()}

    async def tail(self, topic: Topic[R], count: int = 1) -> dict[TopicPartition, int]:
        """The offsets from which reading begins with the last `count` kept records of every partition."""
        bounds = await self.bounds(topic)
        return {place: max(b.first, b.next - count) for place, b in bounds.items()}

    async def bounds(self, topic: Topic[R]) -> Mapping[TopicPartition, Bounds]:
        """The kept range of every partition of a topic."""
        return await self.broker.bounds(self.name(topic))

    async def lag(self, topic: Topic[R], group: str) -> int:
        """Records that the component group has yet to deal with."""
        return await self.broker.lag(self.name(topic), f"{self.run}.{group}")

    def name(self, topic: Topic[R]) -> str:
        """The topic's name on the broker."""
        return f"{self.run}.{topic.name}"

    async def _deliveries(
        self,
        messages: AsyncIterator[Message],
        kinds: Mapping[str, type[R]],
        release: Callable[[Message], None],
    ) -> AsyncIterator[Delivery[R]]:
        async for message in messages:
            try:
                record = schemas.decode(message.value, kinds[message.topic], max_bytes=MAX_RECORD_BYTES)
            except schemas.RecordError as error:
                await self.bury(message, error)
                release(message)
                continue
            yield Delivery(record, message, release)

    async def bury(self, message: Message, error: schemas.RecordError) -> None:
        """Keep a record that cannot be dealt with, and why, as a dead letter."""
        value, key = message.value[:MAX_KEPT_VALUE], message.key[:MAX_KEPT_KEY]
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


@asynccontextmanager
async def connect(url: str, run: str, component: str) -> AsyncIterator[Stream]:
    """The stream of `run` on the broker behind `url`; creates the topics that are missing."""
    async with brokers.connect(url) as broker:
        await broker.create_topics([topic.spec(run) for topic in topics.ALL])
        async with broker.producer() as producer:
            yield Stream(broker, producer, run, component)
