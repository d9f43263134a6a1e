"""What members and producers do while another connection holds the file's write lock."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerUnavailable, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite.database import opened
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.producer import BATCH_BYTES
from mentor_stream.broker.sqlite.watch import Watch
from tests.broker.traffic import everything

pytestmark = pytest.mark.anyio


@contextmanager
def write_lock(path: Path) -> Generator[None]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


async def test_no_message_is_handed_out_on_a_lease_that_has_run_out(tmp_path):
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}?lease=0.3") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        for number in range(3):
            await producer.send("topic", b"key", b"%d" % number)
        async with broker.consumer(["topic"], group="group") as consumer:
            messages = aiter(consumer)
            assert (await anext(messages)).value == b"0"
            with write_lock(path):
                await anyio.sleep(0.4)
                with anyio.move_on_after(0.2):
                    await anext(messages)
                    raise AssertionError("a message was handed out that another member may have by now")
            with anyio.fail_after(10):
                assert (await anext(messages)).value == b"1"


async def test_a_producer_holds_no_more_than_its_bound_in_memory(tmp_path):
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}") as broker:
        await broker.create_topics([TopicSpec("topic")])
        async with broker.producer(max_inflight_bytes=200_000) as producer:
            await producer.send("topic", b"key", b"first")
            with write_lock(path):
                async with anyio.create_task_group() as tasks:
                    for _ in range(10):
                        tasks.start_soon(producer.send, "topic", b"key", bytes(60_000))
                    await anyio.wait_all_tasks_blocked()
                    tasks.cancel_scope.cancel()
        accepted = (await broker.bounds("topic"))[TopicPartition("topic", 0)].next - 1
    assert accepted == 3


async def test_what_waits_behind_a_batch_that_timed_out_is_given_up_when_its_own_time_is_up(tmp_path):
    path = tmp_path / "stream.db"
    refused = 0

    async def send(producer: brokers.Producer) -> None:
        nonlocal refused
        with pytest.raises(BrokerUnavailable, match="write lock"):
            await producer.send("topic", b"key", bytes(2**21))
        refused += 1

    async with brokers.connect(f"sqlite:///{path}?timeout=1") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        await producer.send("topic", b"key", b"first")
        with write_lock(path), anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(30):
                    tasks.start_soon(send, producer)
        assert (await producer.send("topic", b"key", b"last")).offset == 1
    assert refused == 30


async def test_a_message_sent_late_while_another_process_writes_has_its_own_time_to_wait(tmp_path):
    """Also one in the same transaction as those whose time is up; and none overtakes another."""
    path = tmp_path / "stream.db"
    ended: list[str] = []

    async def send(producer: brokers.Producer, name: str, size: int = 10) -> None:
        try:
            await producer.send("topic", b"key", name.encode().ljust(size))
            ended.append(f"{name} is there")
        except BrokerUnavailable:
            ended.append(f"{name} is given up")

    async with brokers.connect(f"sqlite:///{path}?timeout=3") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                with write_lock(path):
                    tasks.start_soon(send, producer, "first")
                    await anyio.sleep(0.2)  # it waits for the lock, and the next one for it
                    tasks.start_soon(send, producer, "second")
                    await anyio.sleep(2)
                    for name, size in (("third", 10), ("fourth", BATCH_BYTES)):
                        tasks.start_soon(send, producer, name, size)
                        await anyio.wait_all_tasks_blocked()
                    while len(ended) < 2:
                        await anyio.sleep(0.01)
            values = [message.value.rstrip() for message in await everything(broker, "topic")]
    assert ended[:2] == ["first is given up", "second is given up"]
    assert set(ended[2:]) == {"third is there", "fourth is there"}
    assert values == [b"third", b"fourth"]


async def test_a_message_given_more_time_waits_no_longer_than_that(tmp_path):
    path, timeout = tmp_path / "stream.db", 4.0  # a busy machine keeps a process waiting for some seconds
    waited: list[float] = []

    async def send(producer: brokers.Producer) -> None:
        began = anyio.current_time()
        with pytest.raises(BrokerUnavailable, match="write lock"):
            await producer.send("topic", b"key", b"value")
        waited.append(anyio.current_time() - began)

    async with (
        brokers.connect(f"sqlite:///{path}?timeout={timeout}") as broker,
        broker.producer() as producer,
    ):
        await broker.create_topics([TopicSpec("topic")])
        with write_lock(path), anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(send, producer)
                    await anyio.sleep(timeout / 5)
    assert all(timeout <= seconds < 1.8 * timeout for seconds in waited)


async def test_a_watch_speaks_up_for_changes_only(tmp_path):
    location = Location(tmp_path / "stream.db")
    heard = 0

    def listen() -> None:
        nonlocal heard
        heard += 1

    async with opened(location, durable=False) as eye, opened(location, durable=False) as hand:
        watch = Watch(eye)
        async with anyio.create_task_group() as tasks:
            with watch.listening(listen):
                tasks.start_soon(watch.run)
                with anyio.fail_after(60):
                    while not heard:
                        await anyio.sleep(0.01)
                    before = heard
                    await anyio.sleep(0.2)
                    assert heard == before
                    await hand.write(lambda connection: connection.execute("CREATE TABLE new (x)"))
                    while heard == before:
                        await anyio.sleep(0.01)
            watch.stop()
