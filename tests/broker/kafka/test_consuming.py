"""What kafka-python does to a group member when nobody looks."""

import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaConsumer as RawConsumer
from kafka import KafkaProducer as RawProducer

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, Consumer, Message, OffsetGap, TopicSpec, wait_for_topics
from mentor_stream.broker.base import BUFFER_BYTES
from mentor_stream.broker.kafka import turn
from mentor_stream.broker.kafka.knowledge import partitions
from mentor_stream.broker.kafka.messages import FETCH_BYTES, close, consumer_options
from mentor_stream.broker.kafka.settings import parse
from tests.broker.kafka.operator import Operator
from tests.broker.traffic import everything, fill, lag_is, nothing_comes, take, values

pytestmark = pytest.mark.anyio
MIB = 2**20
STALL_SECONDS = 1.0


@pytest.fixture
def url(kafka: str) -> str:
    return f"kafka://{kafka}"


@pytest.fixture
async def broker(url: str) -> AsyncIterator[Broker]:
    async with brokers.connect(url) as broker:
        yield broker


@pytest.fixture
def operator(kafka: str) -> Operator:
    return Operator(kafka)


async def test_bytes_that_no_codec_reads_pass_through_and_consuming_goes_on(kafka, broker, name):
    await broker.create_topics([TopicSpec(name)])
    poison = [(b"key", None, []), (None, b"\x00\xff\xfe", []), (b"\xff", b"", [])]

    def send() -> None:
        producer = RawProducer(bootstrap_servers=kafka)
        for key, value, headers in poison:
            producer.send(name, value, key=key, headers=headers).get(20)
        producer.close()

    await to_thread.run_sync(send)
    async with broker.producer() as producer:
        await producer.send(name, b"key", b"value")
    async with broker.consumer([name], group=name) as consumer:
        messages = await take(consumer, 4)
        for message in messages:
            consumer.done(message)
    assert [(m.key, m.value) for m in messages] == [
        (b"key", b""),
        (b"", b"\x00\xff\xfe"),
        (b"\xff", b""),
        (b"key", b"value"),
    ]
    assert await broker.lag(name, name) == 0


async def test_a_full_member_that_gets_more_partitions_stays_within_its_prefetch(url, broker, operator, name):
    await broker.create_topics([TopicSpec(name, partitions=4)])
    async with broker.consumer([name], group=name, prefetch=5) as full:
        async with brokers.connect(url) as elsewhere, elsewhere.consumer([name], group=name):
            await operator.members_have(name, name, 2, 2)
            await fill(broker, name, 40)
            out = await take(full, 5)
        await operator.members_have(name, name, 4)
        assert await nothing_comes(full, 1.0)
        for message in out:
            full.done(message)
        for _ in range(35):
            (message,) = await take(full, 1)
            out.append(message)
            full.done(message)
    # what the other one had fetched comes again, of what this one had nothing
    assert sorted(values(out)) == list(range(40))
    assert await broker.lag(name, name) == 0


async def test_a_message_may_take_longer_than_a_member_may_be_stuck(url, broker, name):
    async with brokers.connect(f"{url}?stall_timeout={STALL_SECONDS}") as patient:
        await fill(broker, name, 1)
        async with patient.consumer([name], group=name, prefetch=1) as slow:
            (message,) = await take(slow, 1)
            async with broker.consumer([name], group=name) as other:
                assert await nothing_comes(other, 3 * STALL_SECONDS)
                slow.done(message)
        assert await broker.lag(name, name) == 0


async def apart(url: str, name: str, live: Callable[[Consumer], Awaitable[None]]) -> None:
    """The life of a member in a thread and an event loop of its own, which it may hold up."""

    async def member() -> None:
        async with brokers.connect(url) as broker, broker.consumer([name], group=name) as consumer:
            await live(consumer)

    await to_thread.run_sync(partial(anyio.run, member, backend="trio"))


async def test_a_member_that_is_stuck_is_replaced_and_later_takes_part_again_and_commits_nothing(
    url, broker, operator, name
):
    has_one, go_on, leave = threading.Event(), threading.Event(), threading.Event()

    async def stuck(consumer: Consumer) -> None:
        (message,) = await take(consumer, 1)
        has_one.set()
        go_on.wait(60)  # what no handler should do
        consumer.done(message)
        await to_thread.run_sync(leave.wait)

    await fill(broker, name, 1)
    async with anyio.create_task_group() as tasks:
        try:
            tasks.start_soon(apart, f"{url}?stall_timeout={STALL_SECONDS}", name, stuck)
            await to_thread.run_sync(partial(has_one.wait, 30))
            async with broker.consumer([name], group=name) as consumer:
                (message,) = await take(consumer, 1)
                go_on.set()
                await operator.members_have(name, name, 0, 1)
                leave.set()
                await operator.members_have(name, name, 1)
                assert await broker.lag(name, name) == 1
                consumer.done(message)
                await lag_is(broker, name, name, 0)
        finally:
            go_on.set()
            leave.set()


async def test_a_leader_that_is_slow_to_poll_takes_part_in_the_rebalance_that_it_asked_for(
    url, broker, operator, name
):
    """Its join ends between two polls, and kafka-python would forget it."""
    shares: list[set[int]] = [set(), set()]
    in_time, over = threading.Event(), threading.Event()

    async def slow(leader: Consumer) -> None:
        while not in_time.is_set():
            time.sleep(1.0)
            await anyio.sleep(0.05)
        while not over.is_set():
            with anyio.move_on_after(0.1):
                shares[0].add((await anext(aiter(leader))).partition)

    async def quick(follower: Consumer) -> None:
        async for message in follower:
            shares[1].add(message.partition)

    await broker.create_topics([TopicSpec(name, partitions=2)])
    async with anyio.create_task_group() as tasks:
        try:
            tasks.start_soon(apart, url, name, slow)
            await operator.members_have(name, name, 2)
            async with broker.consumer([name], group=name) as follower:
                await operator.members_have(name, name, 1, 1)
                for count in (4, 6):
                    await broker.alter_topic(TopicSpec(name, count))
                    await operator.members_have(name, name, count // 2, count // 2)
                in_time.set()
                await fill(broker, name, 100)
                tasks.start_soon(quick, follower)
                with anyio.fail_after(20):
                    while [len(share) for share in shares] != [3, 3]:
                        await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()
        finally:
            in_time.set()
            over.set()


async def test_a_member_that_joins_right_after_the_topic_was_created_misses_nothing(broker, name):
    for number in range(3):
        topic = f"{name}-{number}"
        await broker.create_topics([TopicSpec(topic, partitions=4)])
        async with broker.consumer([topic], group=name) as consumer:
            await fill(broker, topic, 20)
            assert sorted(values(await take(consumer, 20))) == list(range(20))


async def test_a_client_knows_the_partitions_before_it_joins(kafka, broker, name):
    await broker.create_topics([TopicSpec(name, partitions=4)])
    settings = parse(f"kafka://{kafka}", {})

    def join() -> set[int]:
        raw = RawConsumer(group_id=name, **settings.client_options(), **consumer_options(settings))
        try:
            turn.join(raw, name)
            return partitions(raw, name)
        finally:
            close(raw)

    assert await to_thread.run_sync(join) == set(range(4))


async def test_who_waits_for_a_topic_gets_all_of_it_once_it_is_there(url, broker, name):
    got: list[Message] = []

    async def consume() -> None:
        async with brokers.connect(url) as elsewhere:
            await wait_for_topics(elsewhere, [name])
            async with elsewhere.consumer([name], group=name) as consumer:
                got.extend(await take(consumer, 20))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        await fill(broker, name, 20, partitions=4)
    assert sorted(values(got)) == list(range(20))


async def test_a_group_whose_messages_are_all_gone_says_so_once_it_may_go_on(broker, operator, name):
    await fill(broker, name, 10)
    async with broker.consumer([name], group=name) as consumer:
        for message in await take(consumer, 3):
            consumer.done(message)
    await operator.delete_before(name, {0: 10})
    async with broker.consumer([name], group=name) as consumer:
        with pytest.raises(OffsetGap, match=f"{name}, partition 0: message 3 .*none before 10 .*on_gap"):
            await take(consumer, 1)
        with pytest.raises(OffsetGap):  # who asks again is told again
            await take(consumer, 1)
    async with broker.consumer([name], group=name, on_gap="earliest") as consumer:
        assert await nothing_comes(consumer, 1.0)
        assert consumer.skipped == 7
    async with broker.consumer([name], group=name) as consumer:
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"10")
        assert values(await take(consumer, 1)) == [10]
        assert consumer.skipped == 0


async def test_a_group_that_was_here_before_is_not_new_although_it_committed_nothing(broker, operator, name):
    await fill(broker, name, 0)
    async with broker.consumer([name], group=name) as consumer:
        assert await nothing_comes(consumer, 1.0)
    await fill(broker, name, 5)
    await operator.delete_before(name, {0: 2})
    async with broker.consumer([name], group=name) as consumer:
        with pytest.raises(OffsetGap, match="message 0 is due, but 2 to 4 are kept"):
            await take(consumer, 1)


async def test_a_commit_beyond_the_end_is_of_another_topic(broker, operator, name):
    await fill(broker, name, 5)
    await operator.commit(name, name, 50)
    async with broker.consumer([name], group=name) as consumer:
        with pytest.raises(OffsetGap, match=r"message 50 is due.*another stream of this name.*on_gap"):
            await take(consumer, 1)
    async with broker.consumer([name], group=name, on_gap="earliest") as consumer:
        for message in await take(consumer, 5):
            consumer.done(message)
        assert consumer.skipped == 0
    assert await broker.lag(name, name) == 0


async def test_a_topic_made_anew_under_a_member_is_read_from_its_first_message(broker, operator, name):
    await fill(broker, name, 10)
    async with broker.consumer([name], group=name, on_gap="earliest") as consumer:
        for message in await take(consumer, 10):
            consumer.done(message)
        await lag_is(broker, name, name, 0)
        await operator.delete(name)
        await fill(broker, name, 20)
        read: list[int] = []
        with anyio.fail_after(30):
            async for message in consumer:
                read.append(message.offset)
                consumer.done(message)
                if read[-20:] == list(range(20)):
                    break
        await lag_is(broker, name, name, 0)


async def test_a_member_of_many_partitions_fetches_no_more_ahead_than_of_one(broker, operator, name):
    """What is handed out although it was deleted was fetched ahead."""
    await broker.create_topics([TopicSpec(name, partitions=64)])
    await fill_evenly(broker, name, 4 * BUFFER_BYTES // MIB, MIB)
    bounds = await broker.bounds(name)
    async with broker.consumer([name], group=name, prefetch=10_000) as consumer:
        await take(consumer, 1)
        await everything(broker, name)  # meanwhile a member without bounds would have all of it as well
        await operator.delete_before(name, {place.partition: b.next for place, b in bounds.items() if b.next})
        ahead = 0
        with anyio.fail_after(60), pytest.raises(OffsetGap):  # noqa: PT012
            async for message in consumer:
                ahead += len(message.value)
    assert ahead <= 2 * BUFFER_BYTES


async def test_a_message_above_all_fetch_sizes_comes_between_many_small_ones(broker, name):
    await broker.create_topics([TopicSpec(name, partitions=4)])
    async with broker.producer() as producer, anyio.create_task_group() as tasks:
        for number in range(200):
            size = 4 * FETCH_BYTES if number % 50 == 0 else 2**16
            tasks.start_soon(producer.send, name, b"%d" % number, bytes(size))
    got: list[int] = []
    async with broker.consumer([name], group=name) as consumer:
        with anyio.fail_after(60):
            async for message in consumer:
                got.append(len(message.value))
                consumer.done(message)
                if len(got) == 200:
                    break
    assert got.count(4 * FETCH_BYTES) == 4


async def fill_evenly(broker: Broker, topic: str, count: int, size: int) -> None:
    """So many messages of a size, of as many keys."""
    async with broker.producer() as producer, anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(producer.send, topic, b"%d" % number, bytes(size))
