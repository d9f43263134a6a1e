"""The contract: reading by position and by time."""

import time

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicPartition, TopicSpec
from tests.broker.traffic import nothing_comes, take, values

pytestmark = pytest.mark.anyio


async def test_reading_starts_at_the_given_offset_and_ends_at_the_present_end(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        for number in range(10):
            await producer.send(name, b"key", b"%d" % number)
        with anyio.fail_after(20):
            async with broker.reader({TopicPartition(name, 0): 4}, follow=False, prefetch=3) as reader:
                await producer.send(name, b"key", b"10")
                assert [message.offset async for message in reader] == [4, 5, 6, 7, 8, 9]
            async with broker.reader({TopicPartition(name, 0): 11}, follow=False) as reader:
                assert [message async for message in reader] == []
            async with broker.reader({TopicPartition(name, 0): 11}) as reader:
                assert await nothing_comes(reader)
                await producer.send(name, b"key", b"11")
                assert values(await take(reader, 1)) == [11]


async def test_a_follower_sees_what_is_appended_later_from_anywhere(broker_url, name):
    async with (
        brokers.connect(broker_url) as broker,
        brokers.connect(broker_url) as elsewhere,
        elsewhere.producer() as producer,
    ):
        await broker.create_topics([TopicSpec(name, partitions=4)])
        start = {place: bounds.first for place, bounds in (await broker.bounds(name)).items()}
        async with broker.reader(start) as reader:
            messages = aiter(reader)
            with anyio.fail_after(20):
                for number in range(12):
                    await producer.send(name, b"%d" % number, b"%d" % number)
                    assert (await anext(messages)).value == b"%d" % number


async def test_a_reader_whose_iteration_was_cancelled_goes_on(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        got: list[int] = []
        async with broker.reader({TopicPartition(name, 0): 0}, prefetch=3) as reader:
            assert await nothing_comes(reader, 0.05)
            for number in range(20):
                await producer.send(name, b"key", b"%d" % number)
            with anyio.fail_after(20):
                while len(got) < 20:
                    with anyio.move_on_after(0.002):
                        got += values(await take(reader, 1))
        assert got == list(range(20))


async def test_reading_by_time_starts_at_the_first_message_appended_then(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        place = TopicPartition(name, 0)
        sent = []
        for number in range(7):
            await producer.send(name, b"key", b"%d" % number)
            sent.append(time.time())
            while time.time() < sent[-1] + 0.005:  # a broker's clock may count milliseconds
                await anyio.sleep(0.001)
        for number, moment in enumerate(sent):
            assert (await broker.offsets_at(name, moment + 0.002))[place] == number + 1
        assert (await broker.offsets_at(name, 0.0))[place] == 0
        assert (await broker.offsets_at(name, time.time() + 3600))[place] == 7


async def test_readers_and_groups_do_not_disturb_each_other(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        for _ in range(5):
            await producer.send(name, b"key", b"value")
        place = TopicPartition(name, 0)
        with anyio.fail_after(20):
            for _ in range(2):
                async with broker.reader({place: 0}, follow=False) as reader:
                    assert [message.offset async for message in reader] == [0, 1, 2, 3, 4]
        assert await broker.lag(name, name) == 5
