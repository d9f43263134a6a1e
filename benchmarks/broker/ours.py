"""The load through the broker's contract, as components use it."""

from collections.abc import Iterator
from uuid import uuid4

import anyio

from benchmarks.broker.load import PARTITIONS, PREFETCH, Load, Spent, Stopwatch
from mentor_stream.broker import Producer, TopicSpec, connect


async def produce(url: str, topic: str, load: Load) -> Spent:
    """As many senders at a time as the load says, each waiting for its acknowledgement."""
    async with connect(url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(topic, partitions=PARTITIONS)])
        await producer.send(topic, b"first", load.value)  # and not timed: it learns about the topic
        watch = Stopwatch()
        await send_all(producer, topic, load)
        return watch.spent(load, load.count)


async def send_all(producer: Producer, topic: str, load: Load) -> None:
    """Returns when everything is acknowledged."""
    numbers = iter(range(load.count))
    async with anyio.create_task_group() as senders:
        for _ in range(load.senders):
            senders.start_soon(_send, producer, topic, load.value, numbers)


async def _send(producer: Producer, topic: str, value: bytes, numbers: Iterator[int]) -> None:
    for number in numbers:
        await producer.send(topic, str(number).encode(), value)


async def consume(url: str, topic: str, load: Load) -> Spent:
    """A new group's only member, done with each record as soon as it has it."""
    group = f"group-{uuid4().hex}"
    async with connect(url) as broker, broker.consumer([topic], group=group, prefetch=PREFETCH) as consumer:
        watch, seen = Stopwatch(), 0
        async for message in consumer:
            consumer.done(message)
            seen += 1
            if seen == load.begin:
                watch = Stopwatch()
            if seen == load.count:
                break
        return watch.spent(load, load.count - load.begin)
