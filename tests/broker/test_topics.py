"""The contract: topics are created, changed, described, waited for and missed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import (
    EARLIEST,
    Bounds,
    Broker,
    BrokerError,
    MessageTooLarge,
    TopicPartition,
    TopicSpec,
    UnknownTopic,
)
from tests.broker.traffic import SOON, fill, take, values

pytestmark = pytest.mark.anyio


async def test_topics_are_created_once_and_stay_as_they_are(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, partitions=3)])
        await producer.send(name, b"key", b"value")
        await broker.create_topics([TopicSpec(name, partitions=5), TopicSpec(name + "-2")])
        topics = await broker.topics()
        assert (topics[name], topics[name + "-2"]) == (3, 1)
        bounds = await broker.bounds(name)
    assert set(bounds) == {TopicPartition(name, number) for number in range(3)}
    assert sorted(bounds.values()) == [Bounds(0, 0), Bounds(0, 0), Bounds(0, 1)]


async def test_topics_created_by_several_at_once_exist_once(broker_url, name):
    async def create() -> None:
        async with brokers.connect(broker_url) as broker:
            await broker.create_topics([TopicSpec(f"{name}-{number}", 2) for number in range(3)])

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(create)
    async with brokers.connect(broker_url) as broker:
        topics = await broker.topics()
    assert {topic: count for topic, count in topics.items() if topic.startswith(name)} == {
        f"{name}-{number}": 2 for number in range(3)
    }


async def test_a_topic_without_partitions_is_refused_by_name(broker, name):
    with pytest.raises(BrokerError, match=rf"(?i){name}.*partitions"):
        await broker.create_topics([TopicSpec(name, partitions=0)])
    assert name not in await broker.topics()


async def test_a_topic_is_described_as_it_was_created(broker, name):
    made = TopicSpec(
        name, partitions=3, retention_seconds=7200.5, retention_bytes=5 * 2**20, max_message_bytes=2**20
    )
    await broker.create_topics([made, TopicSpec(name + "-2")])
    for spec in (made, TopicSpec(name + "-2")):
        state = await broker.describe(spec.name)
        assert (state.spec, state.under_replicated) == (spec, 0)


async def test_a_topic_is_described_as_it_was_altered(broker_url, broker, name):
    await broker.create_topics([TopicSpec(name, partitions=2, retention_bytes=2**30)])
    altered = TopicSpec(name, partitions=3, retention_seconds=60, max_message_bytes=2**21)
    async with brokers.connect(broker_url) as elsewhere:
        await elsewhere.describe(name)
        await broker.alter_topic(altered)
        assert (await broker.describe(name)).spec == altered
        assert (await elsewhere.describe(name)).spec == altered
        assert len(await elsewhere.bounds(name)) == (await elsewhere.topics())[name] == 3


async def test_a_description_tells_about_how_much_the_messages_take(broker, name):
    await broker.create_topics([TopicSpec(name, partitions=2)])
    empty = await broker.describe(name)
    async with broker.producer() as producer:
        for number in range(20):
            await producer.send(name, b"%d" % number, bytes(50_000))
    full = await broker.describe(name)
    assert empty.size_bytes < 10_000
    assert 1_000_000 <= full.size_bytes < 1_500_000


async def test_taking_partitions_from_a_topic_is_refused_and_changes_nothing(broker, name):
    made = TopicSpec(name, partitions=3, retention_bytes=2**30)
    await broker.create_topics([made])
    with pytest.raises(BrokerError, match=f"{name}.*partitions"):
        await broker.alter_topic(replace(made, partitions=2, retention_bytes=2**29))
    assert (await broker.describe(name)).spec == made


async def test_altering_a_topic_to_what_it_is_changes_nothing(broker, name):
    made = TopicSpec(name, partitions=3, retention_seconds=60)
    await fill(broker, name, 1)
    await broker.create_topics([replace(made, name=name + "-2")])
    await broker.alter_topic(replace(made, name=name + "-2"))
    assert (await broker.describe(name + "-2")).spec == replace(made, name=name + "-2")
    assert (await broker.describe(name)).spec == TopicSpec(name)


@pytest.mark.parametrize(("before", "after"), [(10_000, 20_000), (20_000, 10_000)])
async def test_producers_notice_another_limit(broker_url, broker, name, before, after):
    await broker.create_topics([TopicSpec(name, max_message_bytes=before)])
    async with brokers.connect(broker_url) as elsewhere, broker.producer() as producer:

        async def is_taken() -> bool:
            try:
                await producer.send(name, b"key", bytes(15_000))
            except MessageTooLarge:
                return False
            return True

        assert await is_taken() == (before > 15_000)
        await elsewhere.alter_topic(TopicSpec(name, max_message_bytes=after))
        with anyio.fail_after(SOON):
            while await is_taken() == (before > 15_000):
                await anyio.sleep(0.1)


async def produce(broker: Broker, topic: str) -> None:
    async with broker.producer() as producer:
        await producer.send(topic, b"key", b"value")


async def consume(broker: Broker, topic: str) -> None:
    await broker.create_topics([TopicSpec(topic + "-2")])
    async with broker.consumer([topic + "-2", topic], group=topic):
        pass


async def read(broker: Broker, topic: str) -> None:
    async with broker.reader({TopicPartition(topic, 0): EARLIEST}):
        pass


async def alter(broker: Broker, topic: str) -> None:
    await broker.alter_topic(TopicSpec(topic))


async def describe(broker: Broker, topic: str) -> None:
    await broker.describe(topic)


async def bounds(broker: Broker, topic: str) -> None:
    await broker.bounds(topic)


async def offsets_at(broker: Broker, topic: str) -> None:
    await broker.offsets_at(topic, 0.0)


async def lag(broker: Broker, topic: str) -> None:
    await broker.lag(topic, topic)


@pytest.mark.parametrize("use", [produce, consume, read, alter, describe, bounds, offsets_at, lag])
async def test_a_topic_that_does_not_exist_is_missed_by_name(
    broker: Broker, name: str, use: Callable[[Broker, str], Awaitable[None]]
):
    with anyio.fail_after(SOON), pytest.raises(UnknownTopic, match=rf"{name}\b(?!-2)"):
        await use(broker, name)
    assert name not in await broker.topics()


async def test_a_partition_that_does_not_exist_is_missed_by_name(broker, name):
    await broker.create_topics([TopicSpec(name, partitions=2)])
    with anyio.fail_after(SOON), pytest.raises(UnknownTopic, match=f"{name}.*partition 2"):
        async with broker.reader({TopicPartition(name, 0): 0, TopicPartition(name, 2): 0}):
            pass


async def test_who_waits_for_topics_says_so_and_goes_on_when_the_last_is_created(
    broker_url, broker, name, caplog
):
    await broker.create_topics([TopicSpec(name)])
    goes_on = anyio.Event()

    async def wait() -> None:
        await brokers.wait_for_topics(broker, [name, name + "-2", name + "-3"])
        goes_on.set()

    async with brokers.connect(broker_url) as elsewhere, anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await elsewhere.create_topics([TopicSpec(name + "-2")])
        with anyio.fail_after(SOON):
            while f"for the topics {name}-3:" not in caplog.text:
                await anyio.sleep(0.02)
        assert not goes_on.is_set()
        await elsewhere.create_topics([TopicSpec(name + "-3")])
        with anyio.fail_after(SOON):
            await goes_on.wait()
    async with broker.producer() as producer, broker.consumer([name + "-3"], group=name) as consumer:
        await producer.send(name + "-3", b"key", b"7")
        assert values(await take(consumer, 1)) == [7]
