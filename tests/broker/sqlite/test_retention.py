"""What a topic forgets, and what its readers notice of it."""

import sqlite3
from contextlib import closing

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, OffsetGap, TopicPartition, TopicSpec
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


async def test_a_gap_is_told_when_the_messages_of_other_partitions_before_it_are_handed_out(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as sender:
        await broker.create_topics([TopicSpec("topic", retention_bytes=2_000), TopicSpec("other")])
        await send(broker, 9)
        for _ in range(3):
            await sender.send("other", b"key", b"value")
        async with broker.reader({TopicPartition("other", 0): 0, PLACE: 2}) as reader:
            messages = aiter(reader)
            with anyio.fail_after(10):
                assert [(await anext(messages)).topic for _ in range(3)] == ["other"] * 3
                for _ in range(2):
                    with pytest.raises(OffsetGap, match=r"message 2 is due, but 7 to 8 are kept: retention"):
                        await anext(messages)


async def test_a_gap_that_reaches_beyond_the_end_of_reading_is_counted_up_to_there(tmp_path, caplog):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic", retention_bytes=2_000)])
        await send(broker, 2)
        async with broker.reader({PLACE: 0}, follow=False, on_gap="earliest") as reader:
            await send(broker, 9)
            with anyio.fail_after(10):
                assert [message.offset async for message in reader] == []
            assert reader.skipped == 2
    assert "message 0 is due, but 9 to 10 are kept" in caplog.text
    assert "2 messages are skipped" in caplog.text


async def test_what_was_skipped_is_committed_also_when_nothing_is_kept_behind_it(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as sender:
        await broker.create_topics([TopicSpec("topic")])
        await send(broker, 3)
        async with broker.consumer(["topic"], group="group") as consumer:
            consumer.done(await anext(aiter(consumer)))
        await broker.alter_topic(TopicSpec("topic", retention_bytes=0))
        await send(broker, 1)
        assert (await broker.bounds("topic"))[PLACE] == (4, 4)
        async with broker.consumer(["topic"], group="group", on_gap="earliest") as consumer:
            with anyio.fail_after(10), anyio.CancelScope() as looking:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(anext, aiter(consumer))
                    while consumer.skipped < 3:
                        await anyio.sleep(0.01)
                    looking.cancel()
        await broker.alter_topic(TopicSpec("topic"))
        async with broker.consumer(["topic"], group="group") as consumer:
            await sender.send("topic", b"key", b"next")
            with anyio.fail_after(10):
                assert (await anext(aiter(consumer))).offset == 4


async def test_a_group_whose_commit_is_of_another_stream_is_told_so(tmp_path):
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}") as broker:
        await broker.create_topics([TopicSpec("topic")])
        await send(broker, 3)
        async with broker.consumer(["topic"], group="group"):
            pass
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE assignments SET committed = 100")
        with anyio.fail_after(10):
            async with broker.consumer(["topic"], group="group") as consumer:
                with pytest.raises(OffsetGap, match=r"100 is due, but 0 to 2 are kept.*another stream"):
                    await anext(aiter(consumer))
            async with broker.consumer(["topic"], group="group", on_gap="earliest") as consumer:
                for offset in range(2):
                    message = await anext(aiter(consumer))
                    assert message.offset == offset
                    consumer.done(message)
            async with broker.consumer(["topic"], group="group") as consumer:
                assert (await anext(aiter(consumer))).offset == 2


async def test_retention_keeps_up_with_batches_of_more_small_messages_than_one_trim_removes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(producer, "TRIM_SECONDS", 3600.0)
    monkeypatch.setattr(producer, "TRIM_MESSAGES", 1)
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic")])
        await send(broker, 100)
        await broker.alter_topic(TopicSpec("topic", retention_bytes=1_000))
        async with broker.producer() as sender:
            for _ in range(4):
                async with anyio.create_task_group() as tasks:
                    for _ in range(40):
                        tasks.start_soon(sender.send, "topic", b"key", bytes(1_000))
        assert (await broker.bounds("topic"))[PLACE].first > 200


async def test_reading_up_to_an_end_that_retention_has_passed_knows_no_gap_behind_that_end(tmp_path):
    other = TopicPartition("other", 0)
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as sender:
        await broker.create_topics([TopicSpec("topic", retention_bytes=2_000), TopicSpec("other")])
        await send(broker, 1)
        for _ in range(3):
            await sender.send("other", b"key", b"value")
        start = {PLACE: EARLIEST, other: 0}
        async with broker.reader(start, follow=False, prefetch=1) as reader:
            await send(broker, 9)
            places = []
            async for message in reader:
                places.append(message.place)
                await send(broker, 9)
            assert places == [other] * 3
