"""The contract: a topic gets more partitions while everyone is at work on it."""

from itertools import groupby

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import (
    EARLIEST,
    Broker,
    Consumer,
    Message,
    Producer,
    Reader,
    Receipt,
    TopicPartition,
    TopicSpec,
)

pytestmark = pytest.mark.anyio

BEFORE, AFTER = 2, 6
KEYS = 60
PATIENCE = 60.0
"""Seconds in which everyone has noticed, on a busy machine."""


class Traffic:
    """What was sent and what came of it."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.sent: list[tuple[bytes, Receipt]] = []
        self.read: list[Message] = []
        self.shares: list[list[Message]] = []
        self._ending = False

    async def send(self, producer: Producer) -> None:
        while not self._ending:
            key = b"%d" % (len(self.sent) % KEYS)
            self.sent.append((key, await producer.send(self.topic, key, b"%d" % len(self.sent))))

    def end(self) -> None:
        self._ending = True

    def share(self) -> list[Message]:
        """What one more member is going to get."""
        self.shares.append([])
        return self.shares[-1]

    async def consume(self, consumer: Consumer, share: list[Message]) -> None:
        async for message in consumer:
            share.append(message)
            consumer.done(message)

    async def follow(self, reader: Reader) -> None:
        async for message in reader:
            self.read.append(message)

    async def reaches(self, partitions: int) -> None:
        """Returns when messages are sent to and read from so many partitions, shared evenly by members."""
        fair = partitions // len(self.shares)
        with anyio.fail_after(PATIENCE):
            while True:
                sent, read, shares = len(self.sent), len(self.read), [len(share) for share in self.shares]
                with anyio.move_on_after(1.0):
                    while not (
                        len({receipt.partition for _, receipt in self.sent[sent:]}) == partitions
                        and len({message.partition for message in self.read[read:]}) == partitions
                        and all(
                            len({message.partition for message in share[since:]}) == fair
                            for share, since in zip(self.shares, shares, strict=True)
                        )
                    ):
                        await anyio.sleep(0.01)
                    return


async def test_partitions_that_are_added_at_work_are_written_shared_and_read_and_nothing_is_lost(
    broker_url, broker: Broker, name
):
    await broker.create_topics([TopicSpec(name, BEFORE)])
    start = dict.fromkeys(await broker.bounds(name), EARLIEST)
    traffic = Traffic(name)
    async with (
        brokers.connect(broker_url) as elsewhere,
        broker.producer() as producer,
        broker.consumer([name], group=name) as one,
        elsewhere.consumer([name], group=name) as two,
        broker.reader(start) as reader,
        anyio.create_task_group() as tasks,
    ):
        for consumer in (one, two):
            tasks.start_soon(traffic.consume, consumer, traffic.share())
        tasks.start_soon(traffic.follow, reader)
        async with anyio.create_task_group() as sending:
            sending.start_soon(traffic.send, producer)
            await traffic.reaches(BEFORE)
            await elsewhere.alter_topic(TopicSpec(name, AFTER))
            await traffic.reaches(AFTER)
            traffic.end()
        with anyio.fail_after(PATIENCE):
            while len(traffic.read) < len(traffic.sent) or await broker.lag(name, name):
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    places = sorted(receipt for _, receipt in traffic.sent)
    assert sorted(Receipt(m.topic, m.partition, m.offset) for m in traffic.read) == places
    shared = {(m.topic, m.partition, m.offset) for share in traffic.shares for m in share}
    assert shared == set(places)
    for partition in range(AFTER):
        offsets = [message.offset for message in traffic.read if message.partition == partition]
        assert offsets == list(range(len(offsets)))


async def test_a_key_moves_at_most_once_when_partitions_are_added_and_keeps_its_order_in_each(
    broker_url, broker, name
):
    await broker.create_topics([TopicSpec(name, BEFORE)])
    traffic = Traffic(name)
    async with brokers.connect(broker_url) as elsewhere, broker.producer() as producer:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as sending:
                sending.start_soon(traffic.send, producer)
                await elsewhere.alter_topic(TopicSpec(name, AFTER))
                while {receipt.partition for _, receipt in traffic.sent[-KEYS:]} != set(range(AFTER)):
                    await anyio.sleep(0.01)
                traffic.end()
    for number in range(KEYS):
        mine = [receipt for key, receipt in traffic.sent if key == b"%d" % number]
        visits = [list(visit) for _, visit in groupby(mine, key=lambda receipt: receipt.partition)]
        assert len(visits) <= 2
        assert all(visit == sorted(visit) for visit in visits)
    with pytest.raises(brokers.BrokerError, match=name):
        await broker.alter_topic(TopicSpec(name, BEFORE))


async def test_a_follower_takes_in_added_partitions_and_none_that_it_left_out(broker_url, broker, name):
    await broker.create_topics([TopicSpec(name, BEFORE)])
    followed = {TopicPartition(name, 0): EARLIEST}
    traffic = Traffic(name)
    async with (
        brokers.connect(broker_url) as elsewhere,
        broker.producer() as producer,
        broker.reader(followed) as reader,
        broker.reader(followed, follow=False) as past,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(traffic.follow, reader)
        await elsewhere.alter_topic(TopicSpec(name, AFTER))
        tasks.start_soon(traffic.send, producer)
        with anyio.fail_after(PATIENCE):
            while {message.partition for message in traffic.read} != {0, *range(BEFORE, AFTER)}:
                await anyio.sleep(0.01)
            assert [message async for message in past] == []
        traffic.end()
        tasks.cancel_scope.cancel()
    for partition in {message.partition for message in traffic.read}:
        offsets = [message.offset for message in traffic.read if message.partition == partition]
        assert offsets == list(range(len(offsets)))
