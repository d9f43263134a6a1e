"""What tests put into topics and take out of them."""

from collections.abc import AsyncIterable, Callable
from functools import partial

import anyio

from mentor_stream.broker import EARLIEST, Broker, Message, TopicPartition, TopicSpec

SOON = 30.0
"""Seconds that anything but retention may take on a busy machine."""
BLOCK = 2**16


AT_REST_SECONDS = 1.5
"""An engine looks about once a second what it may forget: where nothing went for so long, nothing will."""


def short_lived(topic: str) -> TopicSpec:
    """A topic of one partition that keeps little more than a MiB, the least that Kafka deletes at once."""
    return TopicSpec(topic, retention_bytes=2**20, max_message_bytes=8 * BLOCK)


async def fill(broker: Broker, topic: str, count: int, partitions: int = 1) -> None:
    """A topic with messages 0, 1, 2... spread over its partitions."""
    await broker.create_topics([TopicSpec(topic, partitions)])
    async with broker.producer() as producer:
        for number in range(count):
            await producer.send(topic, b"key-%d" % (number % 20), b"%d" % number)


async def send_blocks(broker: Broker, topic: str, count: int, size: int = BLOCK) -> None:
    """Append so many messages of this size to one partition of the topic."""
    async with broker.producer() as producer, anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(partial(producer.send, topic, b"key", bytes(size)))


async def forget(broker: Broker, topic: str, before: int, patience: float) -> int:
    """Append to a short-lived topic until it keeps nothing before this offset and forgets no more.

    The first offset it keeps.
    """
    place = TopicPartition(topic, 0)
    end = (await broker.bounds(topic))[place].next
    await send_blocks(broker, topic, max(0, before - end) + 4 * 2**20 // BLOCK)
    with anyio.fail_after(patience):
        async with broker.producer() as producer:
            first, since = -1, anyio.current_time()
            while first < before or anyio.current_time() - since < AT_REST_SECONDS:
                if first < before:
                    await producer.send(topic, b"key", b"")  # an engine may look only when it is written to
                await anyio.sleep(0.05)
                if (kept := (await broker.bounds(topic))[place].first) != first:
                    first, since = kept, anyio.current_time()
    return first


async def take(messages: AsyncIterable[Message], count: int) -> list[Message]:
    """The next messages; fails when they do not come."""
    following = aiter(messages)
    with anyio.fail_after(SOON):
        return [await anext(following) for _ in range(count)]


async def collect(
    messages: AsyncIterable[Message],
    into: list[Message],
    done: Callable[[Message], None] = lambda _: None,
    last: int | None = None,
) -> None:
    """Append what comes, and be done with it, up to the offset `last` or for as long as it comes."""
    with anyio.fail_after(SOON):
        async for message in messages:
            into.append(message)
            done(message)
            if message.offset == last:
                break


async def nothing_comes(messages: AsyncIterable[Message], seconds: float = 0.3) -> bool:
    """Whether no message comes for so long."""
    with anyio.move_on_after(seconds):
        await anext(aiter(messages))
        return False
    return True


async def everything(broker: Broker, topic: str) -> list[Message]:
    """All messages that the topic keeps, in partition order."""
    start = dict.fromkeys(await broker.bounds(topic), EARLIEST)
    with anyio.fail_after(SOON):
        async with broker.reader(start, follow=False) as reader:
            return [message async for message in reader]


async def lag_is(broker: Broker, topic: str, group: str, expected: int) -> None:
    """Returns once the group has so much left to commit; fails when it never has."""
    with anyio.fail_after(SOON):
        while await broker.lag(topic, group) != expected:
            await anyio.sleep(0.02)


def values(messages: list[Message]) -> list[int]:
    """Their values, which are numbers."""
    return [int(message.value) for message in messages]
