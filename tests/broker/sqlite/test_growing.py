"""A topic that gets partitions: what each part of the engine relies on."""

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicPartition, TopicSpec
from mentor_stream.broker.sqlite.catalog import Topic

pytestmark = pytest.mark.anyio

BEFORE, AFTER = TopicSpec("topic", 1), TopicSpec("topic", 4)
KEYS = [b"%d" % number for number in range(16)]


async def test_no_message_goes_by_the_old_number_of_partitions_once_the_topic_has_grown(tmp_path):
    """Not even the first one: it is counted in the transaction that appends."""
    url = f"sqlite:///{tmp_path}/stream.db"
    async with brokers.connect(url) as broker, brokers.connect(url) as elsewhere:
        await broker.create_topics([BEFORE])
        async with broker.producer() as producer:
            await producer.send("topic", b"key", b"value")
            await elsewhere.alter_topic(AFTER)
            grown = Topic(1, AFTER, (1, 2, 3, 4))
            for key in KEYS:
                assert (await producer.send("topic", key, b"value")).partition == grown.partition_of(key)


async def test_a_follower_of_some_partitions_takes_in_those_that_are_added_and_no_others(tmp_path):
    url = f"sqlite:///{tmp_path}/stream.db"
    async with (
        brokers.connect(url) as broker,
        brokers.connect(url) as elsewhere,
        elsewhere.producer() as producer,
    ):
        await broker.create_topics([TopicSpec("topic", 2), TopicSpec("other", 1)])
        async with broker.reader({TopicPartition("topic", 1): 0}) as reader:
            await elsewhere.alter_topic(TopicSpec("other", 3))
            await elsewhere.alter_topic(TopicSpec("topic", 3))
            for key in KEYS:
                await producer.send("other", key, b"value")
                await producer.send("topic", key, b"value")
            ends = {place: bounds.next for place, bounds in (await broker.bounds("topic")).items()}
            expected = ends[TopicPartition("topic", 1)] + ends[TopicPartition("topic", 2)]
            messages = aiter(reader)
            with anyio.fail_after(10):
                places = {(await anext(messages)).place for _ in range(expected)}
            assert places == {TopicPartition("topic", 1), TopicPartition("topic", 2)}


async def test_what_was_appended_to_a_new_partition_before_its_follower_noticed_comes_from_the_first(
    tmp_path,
):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as producer:
        await broker.create_topics([BEFORE])
        async with broker.reader({TopicPartition("topic", 0): 0}) as reader:
            await broker.alter_topic(AFTER)
            for key in KEYS:
                await producer.send("topic", key, key)
            messages = aiter(reader)
            with anyio.fail_after(10):
                assert {(await anext(messages)).value for _ in KEYS} == set(KEYS)


async def test_reading_up_to_the_present_end_takes_in_no_partition_that_comes_later(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as producer:
        await broker.create_topics([BEFORE])
        await producer.send("topic", b"key", b"value")
        async with broker.reader({TopicPartition("topic", 0): 0}, follow=False) as reader:
            await broker.alter_topic(AFTER)
            for key in KEYS:
                await producer.send("topic", key, b"value")
            with anyio.fail_after(10):
                assert [message.place async for message in reader] == [("topic", 0)]


async def test_a_member_that_waits_for_messages_gets_those_of_a_partition_that_is_added(tmp_path):
    url = f"sqlite:///{tmp_path}/stream.db?lease=3600"  # no beat helps: it has to notice
    async with brokers.connect(url) as broker, brokers.connect(url) as elsewhere:
        await broker.create_topics([BEFORE])
        async with broker.consumer(["topic"], group="group") as consumer, anyio.create_task_group() as tasks:
            values = set()

            async def consume() -> None:
                async for message in consumer:
                    values.add(message.value)

            tasks.start_soon(consume)
            await elsewhere.alter_topic(AFTER)
            async with elsewhere.producer() as producer:
                for key in KEYS:
                    await producer.send("topic", key, key)
            with anyio.fail_after(10):
                while values != set(KEYS):
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
