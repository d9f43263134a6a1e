"""The contract: appending messages."""

import os
import signal
import time

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import MessageTooLarge, Outgoing, TopicSpec, UnknownTopic
from tests.broker.traffic import everything
from tests.broker.worker import worker

pytestmark = pytest.mark.anyio


async def test_a_message_comes_out_as_it_went_in(broker_url, name):
    headers = [("trace", b"\x00\xff"), ("trace", b""), ("Ünïcode", b"1")]
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        receipt = await producer.send(name, b"key\x00", b"\x00value\xff", headers)
        empty = await producer.send(name, b"k", b"")
        first, second = await everything(broker, name)
    assert (first.place, first.offset) == (receipt[:2], receipt.offset)
    assert (first.key, first.value, first.headers) == (b"key\x00", b"\x00value\xff", tuple(headers))
    assert (second.offset, second.value, second.headers) == (empty.offset, b"", ())
    assert abs(first.timestamp - time.time()) < 3_600  # the broker's clock, but in seconds
    assert first.timestamp <= second.timestamp


async def test_messages_of_one_key_stay_in_one_partition_and_in_order(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, partitions=4)])

        async def send_in_turn(key: bytes) -> None:
            for number in range(20):
                await producer.send(name, key, b"%d" % number)

        async with anyio.create_task_group() as tasks:
            for key in range(12):
                tasks.start_soon(send_in_turn, b"key-%d" % key)
        messages = await everything(broker, name)
    assert len(messages) == 12 * 20
    assert len({message.partition for message in messages}) == 4
    for key in {message.key for message in messages}:
        mine = [message for message in messages if message.key == key]
        assert len({message.partition for message in mine}) == 1
        assert [int(message.value) for message in mine] == list(range(20))


async def test_what_was_acknowledged_before_a_send_began_stands_before_it(broker_url, name):
    acknowledged = -1
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])

        async def send_in_turn() -> None:
            nonlocal acknowledged
            for _ in range(20):
                before = acknowledged
                receipt = await producer.send(name, b"key", b"value")
                assert receipt.offset > before
                acknowledged = max(acknowledged, receipt.offset)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(send_in_turn)
    assert acknowledged == 199


async def test_sends_at_the_same_time_get_an_offset_each(broker_url, name):
    receipts = []
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])

        async def send(number: int) -> None:
            receipts.append((await producer.send(name, b"key", b"%d" % number), number))

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(send, number)
        messages = await everything(broker, name)
    assert sorted(receipt.offset for receipt, _ in receipts) == list(range(200))
    assert {message.offset: int(message.value) for message in messages} == {
        receipt.offset: number for receipt, number in receipts
    }


async def test_messages_sent_together_stand_in_their_order_and_each_has_its_receipt(broker_url, name):
    messages = [Outgoing(name, b"key-%d" % (number % 5), b"%d" % number) for number in range(300)]
    async with brokers.connect(broker_url) as broker, broker.producer(max_inflight_bytes=500) as producer:
        await broker.create_topics([TopicSpec(name, partitions=3)])
        assert await producer.send_all([]) == []
        receipts = await producer.send_all(messages)
        there = {(message.partition, message.offset): message for message in await everything(broker, name)}
    assert len(there) == 300
    for sent, receipt in zip(messages, receipts, strict=True):
        assert there[receipt.partition, receipt.offset].value == sent.value
    for key in {message.key for message in messages}:
        mine = [receipt for sent, receipt in zip(messages, receipts, strict=True) if sent.key == key]
        assert mine == sorted(mine)
        assert len({receipt.partition for receipt in mine}) == 1


async def test_of_messages_sent_together_none_is_appended_when_one_cannot_be(broker_url, name):
    good, large = Outgoing(name, b"key", b"good"), Outgoing(name, b"key", bytes(11_000))
    lost = Outgoing(f"{name}-none", b"key", b"lost")
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, max_message_bytes=10_000)])
        with anyio.fail_after(30):
            with pytest.raises(MessageTooLarge, match="10000"):
                await producer.send_all([good, large, good])
            with pytest.raises(UnknownTopic, match=f"{name}-none"):
                await producer.send_all([good, lost, good])
            await producer.send_all([good])
        assert [message.value for message in await everything(broker, name)] == [b"good"]


async def test_what_was_acknowledged_to_a_producer_killed_at_work_is_there(broker_url, name):
    async with brokers.connect(broker_url) as broker:
        await broker.create_topics([TopicSpec(name, partitions=2)])
        with anyio.fail_after(60):
            async with worker("produce", broker_url, name, "key", "1000000") as producer:
                acknowledged = [await producer.line() for _ in range(30)]
                os.kill(producer.process.pid, signal.SIGKILL)
                try:
                    while True:
                        acknowledged.append(await producer.line())
                except anyio.IncompleteRead:
                    pass
        values = [message.value.decode() for message in await everything(broker, name)]
    assert values[: len(acknowledged)] == [f"key:{number}" for number in range(len(acknowledged))]
    assert len(values) <= len(acknowledged) + 1


async def test_a_producer_waits_while_its_unacknowledged_bytes_are_at_the_bound(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer(max_inflight_bytes=100_000) as producer:
        await broker.create_topics([TopicSpec(name)])
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(producer.send, name, b"key", bytes(60_000))
            await producer.send(name, b"key", bytes(200_000))
        assert len(await everything(broker, name)) == 11


async def test_leaving_a_producer_waits_for_what_is_in_flight(broker_url, name):
    receipts = []
    async with brokers.connect(broker_url) as broker:
        await broker.create_topics([TopicSpec(name)])

        async def send() -> None:
            receipts.append(await producer.send(name, b"key", b"value"))

        async with anyio.create_task_group() as tasks:
            async with broker.producer() as producer:
                for _ in range(50):
                    tasks.start_soon(send)
                await anyio.wait_all_tasks_blocked()
            assert [bounds.next for bounds in (await broker.bounds(name)).values()] == [50]
    assert len(receipts) == 50


async def test_a_cancelled_send_leaves_the_producer_working(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer(max_inflight_bytes=1_000) as producer:
        await broker.create_topics([TopicSpec(name)])
        for delay in (0, 0.001, 0.003):
            with anyio.move_on_after(delay):
                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(producer.send, name, b"key", bytes(900))
                    tasks.start_soon(producer.send_all, [Outgoing(name, b"key", bytes(900))] * 20)
        with anyio.fail_after(20):
            receipt = await producer.send(name, b"key", b"last")
        messages = await everything(broker, name)
    assert (messages[-1].offset, messages[-1].value) == (receipt.offset, b"last")


async def test_a_message_above_the_topics_limit_is_refused_at_once(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, max_message_bytes=10_000)])
        with anyio.fail_after(20):
            with pytest.raises(MessageTooLarge, match="10000"):
                await producer.send(name, b"key", bytes(11_000))
            await producer.send(name, b"key", bytes(9_000))
        assert [len(message.value) for message in await everything(broker, name)] == [9_000]


async def test_a_limit_lowered_elsewhere_refuses_what_is_above_it_and_nothing_sent_beside_it(
    broker_url, name
):
    ended: list[int | str] = []

    async def send(producer: brokers.Producer, size: int) -> None:
        try:
            await producer.send(name, b"key", bytes(size))
            ended.append(size)
        except MessageTooLarge as error:
            ended.append(str(error))

    async with brokers.connect(broker_url) as broker, brokers.connect(broker_url) as elsewhere:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"first")  # from here on the limit is known, and idle
            await elsewhere.alter_topic(TopicSpec(name, max_message_bytes=10_000))
            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    for size in [20_000, 9_000, 9_000] * 4:
                        tasks.start_soon(send, producer, size)
        kept = [len(message.value) for message in await everything(broker, name)]
    refused = [end for end in ended if isinstance(end, str)]
    assert len(refused) == 4
    assert all(name in text and "max_record_bytes" in text for text in refused)
    assert kept == [5] + [9_000] * 8


async def test_an_exception_in_the_body_comes_out_as_it_is(broker_url, name):
    async def fail() -> None:
        async with brokers.connect(broker_url) as broker:
            await broker.create_topics([TopicSpec(name)])
            async with broker.producer(), broker.consumer([name], group=name), broker.reader({}):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
