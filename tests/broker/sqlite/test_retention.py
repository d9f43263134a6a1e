"""What a topic forgets, and what its readers notice of it."""

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import log, producer

pytestmark = pytest.mark.anyio

PLACE = TopicPartition("topic", 0)


@pytest.fixture(autouse=True)
def trim_always(monkeypatch):
    monkeypatch.setattr(producer, "TRIM_SECONDS", 0.0)


async def send(broker: brokers.Broker, count: int, size: int = 1_000) -> None:
    async with broker.producer() as sender:
        for _ in range(count):
            await sender.send("topic", b"key", bytes(size - 3))


async def test_a_partition_keeps_no_more_than_retention_bytes(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic", retention_bytes=10_000)])
        await send(broker, 25)
        assert (await broker.bounds("topic"))[PLACE] == (15, 25)


async def test_messages_older_than_retention_seconds_go_with_the_next_append(tmp_path, monkeypatch):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic", retention_seconds=3600)])
        await send(broker, 5)
        assert (await broker.bounds("topic"))[PLACE] == (0, 5)
        now = log.time.time()
        monkeypatch.setattr(log.time, "time", lambda: now + 7200)
        await send(broker, 2)
        assert (await broker.bounds("topic"))[PLACE] == (5, 7)
        assert (await broker.offsets_at("topic", 0.0))[PLACE] == 5


async def test_a_clock_set_back_does_not_put_messages_before_earlier_ones(tmp_path, monkeypatch):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic")])
        await send(broker, 2)
        now = log.time.time()
        monkeypatch.setattr(log.time, "time", lambda: now - 7200)
        await send(broker, 2)
        async with broker.reader({PLACE: 0}, follow=False) as reader:
            times = [message.timestamp async for message in reader]
    assert times == sorted(times)


async def test_reading_an_offset_that_is_gone_continues_at_the_first_one_kept(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic", retention_bytes=5_000)])
        await send(broker, 12)
        with anyio.fail_after(10):
            async with broker.reader({PLACE: 2}, follow=False) as reader:
                assert [message.offset async for message in reader] == [7, 8, 9, 10, 11]
            assert await broker.lag("topic", "group") == 5
            async with broker.consumer(["topic"], group="group") as consumer:
                message = await anext(aiter(consumer))
                assert message.offset == 7
                consumer.done(message)
        assert await broker.lag("topic", "group") == 4


async def test_a_reader_overtaken_by_retention_goes_on_behind_the_gap(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic", retention_bytes=5_000)])
        await send(broker, 4)
        async with broker.reader({PLACE: 0}, prefetch=2) as reader:
            messages = aiter(reader)
            with anyio.fail_after(10):
                assert (await anext(messages)).offset == 0
                await send(broker, 20)
                offsets = [(await anext(messages)).offset for _ in range(6)]
    assert offsets == [1, 19, 20, 21, 22, 23]
