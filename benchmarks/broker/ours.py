"""The load through the broker's contract, as components use it."""

from collections.abc import Iterator
from itertools import islice
from uuid import uuid4

import anyio

from benchmarks.broker.load import PARTITIONS, PREFETCH, Load, Spent, Stopwatch
from mentor_stream.broker import Outgoing, Producer, TopicSpec, connect


async def produce(url: str, topic: str, load: Load) -> Spent:
    """As many records under way at a time as the load says, all waited for."""
    async with connect(url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(topic, partitions=PARTITIONS)])
        await producer.send(topic, b"first", load.value)  # and not timed: it learns about the topic
        watch = Stopwatch()
        await send_all(producer, topic, load)
        return watch.spent(load, load.count)


async def send_all(producer: Producer, topic: str, load: Load) -> None:
    """Returns when everything is acknowledged."""
    messages = (Outgoing(topic, str(number).encode(), load.value) for number in range(load.count))
    async with anyio.create_task_group() as senders:
        for _ in range(load.senders // load.together):
            senders.start_soon(_send, producer, messages, load.together)


async def _send(producer: Producer, messages: Iterator[Outgoing], together: int) -> None:
    while some := list(islice(messages, together)):
        await (producer.send(*some[0]) if together == 1 else producer.send_all(some))


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
