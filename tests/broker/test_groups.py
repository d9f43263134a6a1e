"""The contract: several members share a group, come, go, die and stall."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, Consumer, TopicSpec
from tests.broker.traffic import fill, lag_is, take
from tests.broker.worker import Worker, worker

pytestmark = pytest.mark.anyio

PARTITIONS = 4


class Round:
    """Sends one message to every partition, again and again; a value is "round partition"."""

    def __init__(self, producer: brokers.Producer, topic: str) -> None:
        self.producer, self.topic, self.number = producer, topic, 0
        self.keys: dict[int, bytes] = {}

    async def find_keys(self) -> None:
        """A key for every partition, found by sending."""
        number = 0
        while len(self.keys) < PARTITIONS:
            receipt = await self.producer.send(self.topic, b"%d" % number, b"0 0")
            self.keys.setdefault(receipt.partition, b"%d" % number)
            number += 1

    async def send(self) -> int:
        """One more round; its number."""
        self.number += 1
        for partition, key in self.keys.items():
            await self.producer.send(self.topic, key, b"%d %d" % (self.number, partition))
        return self.number


@asynccontextmanager
async def rounds(broker: Broker, topic: str) -> AsyncGenerator[Round]:
    await broker.create_topics([TopicSpec(topic, PARTITIONS)])
    async with broker.producer() as producer:
        round_ = Round(producer, topic)
        await round_.find_keys()
        yield round_


class Seen:
    """What a member has got: (round, partition) in order."""

    def __init__(self) -> None:
        self.values: list[tuple[int, int]] = []

    def partitions(self, since: int = 0) -> set[int]:
        return {partition for number, partition in self.values if number >= since}

    def add(self, value: str) -> None:
        number, partition = value.split()
        self.values.append((int(number), int(partition)))

    async def consume(self, consumer: Consumer) -> None:
        async for message in consumer:
            self.add(message.value.decode())
            consumer.done(message)

    async def listen(self, member: Worker) -> None:
        try:
            while True:
                self.add(await member.line())
        except anyio.IncompleteRead:
            pass


async def until(round_: Round, *expected: tuple[Seen, int]) -> int:
    """Send rounds until each member gets messages of exactly so many partitions in one round; that round.

    A round that falls into a hand-over may reach both members, since delivery is at least once.
    """
    with anyio.fail_after(30):
        while True:
            number = await round_.send()
            with anyio.move_on_after(0.3):
                while any(len(seen.partitions(number)) != count for seen, count in expected):
                    await anyio.sleep(0.01)
                return number


async def test_members_that_join_and_leave_share_the_partitions_evenly(broker_url, name):
    async with (
        brokers.connect(broker_url) as broker,
        brokers.connect(broker_url) as elsewhere,
        rounds(broker, name) as round_,
        anyio.create_task_group() as tasks,
    ):
        first, second = Seen(), Seen()
        async with broker.consumer([name], group=name) as consumer:
            tasks.start_soon(first.consume, consumer)
            await until(round_, (first, 4))
            with anyio.CancelScope() as stay:
                async with (
                    elsewhere.consumer([name], group=name) as other,
                    anyio.create_task_group() as inner,
                ):
                    inner.start_soon(second.consume, other)
                    settled = await until(round_, (first, 2), (second, 2))
                    assert first.partitions(settled).isdisjoint(second.partitions(settled))
                    stay.cancel()
            await until(round_, (first, 4))
            await lag_is(broker, name, name, 0)
            tasks.cancel_scope.cancel()


async def test_what_a_killed_member_had_not_done_comes_to_the_others_within_the_lease(broker_url, name):
    async with brokers.connect(broker_url) as broker, rounds(broker, name) as round_:
        survivor, dead = Seen(), Seen()
        async with (
            worker("hold", broker_url, name, name) as member,
            broker.consumer([name], group=name) as consumer,
            anyio.create_task_group() as tasks,
        ):
            with anyio.fail_after(30):
                assert await member.line() == "joined"
            tasks.start_soon(dead.listen, member)
            tasks.start_soon(survivor.consume, consumer)
            settled = await until(round_, (survivor, 2), (dead, 2))
            os.kill(member.process.pid, signal.SIGKILL)
            with anyio.fail_after(15):
                while survivor.partitions(settled) != set(range(PARTITIONS)):
                    await anyio.sleep(0.01)
            await until(round_, (survivor, 4))
            tasks.cancel_scope.cancel()
    held = set(dead.values)
    assert held
    assert held <= set(survivor.values)


async def test_a_stalled_member_is_fenced_and_neither_crashes_nor_commits(broker_url, name):
    async with brokers.connect(broker_url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, partitions=1)])
        await producer.send(name, b"key", b"first")
        with anyio.fail_after(60):
            async with worker("hold", broker_url, name, name) as stalled:
                assert [await stalled.line(), await stalled.line()] == ["joined", "first"]
                os.kill(stalled.process.pid, signal.SIGSTOP)
                async with broker.consumer([name], group=name) as consumer:
                    message = await anext(aiter(consumer))
                    assert message.value == b"first"
                    os.kill(stalled.process.pid, signal.SIGCONT)
                    await stalled.tell("first")
                    assert await stalled.line() == "marked"
                    assert await stalled.leave() == 0
                    assert await broker.lag(name, name) == 1
                    consumer.done(message)
    assert await broker_lag(broker_url, name) == 0


async def test_a_stalled_member_that_wakes_up_takes_part_again(broker_url, name):
    async with brokers.connect(broker_url) as broker, rounds(broker, name) as round_:
        steady, stalled = Seen(), Seen()
        async with (
            worker("consume", broker_url, name, name) as member,
            broker.consumer([name], group=name) as consumer,
            anyio.create_task_group() as tasks,
        ):
            with anyio.fail_after(30):
                assert await member.line() == "joined"
            tasks.start_soon(stalled.listen, member)
            tasks.start_soon(steady.consume, consumer)
            await until(round_, (steady, 2), (stalled, 2))
            os.kill(member.process.pid, signal.SIGSTOP)
            await until(round_, (steady, 4))
            os.kill(member.process.pid, signal.SIGCONT)
            settled = await until(round_, (steady, 2), (stalled, 2))
            assert steady.partitions(settled).isdisjoint(stalled.partitions(settled))
            tasks.cancel_scope.cancel()


async def test_done_does_nothing_for_a_partition_that_was_taken_away(broker_url, name):
    async with brokers.connect(broker_url) as broker, brokers.connect(broker_url) as elsewhere:
        await fill(broker, name, 40, PARTITIONS)
        async with broker.consumer([name], group=name) as loser:
            held = await take(loser, 40)
            async with elsewhere.consumer([name], group=name) as winner:
                places = {message.place for message in await take(winner, 1)}
                with anyio.fail_after(30):
                    async for message in winner:
                        places.add(message.place)
                        if len(places) == 2:
                            break
                for message in held:
                    loser.done(message)
                moved = [message for message in held if message.place in places]
                await lag_is(broker, name, name, len(moved))
    assert await broker_lag(broker_url, name) == len(moved)


async def test_many_processes_on_one_broker_lose_nothing_and_keep_the_order_of_each_key(broker_url, name):
    got: list[str] = []

    async def listen(member: Worker) -> None:
        try:
            while True:
                got.append(await member.line())
        except anyio.IncompleteRead:
            pass

    async with brokers.connect(broker_url) as broker:
        await broker.create_topics([TopicSpec(name, PARTITIONS)])
        expected = [f"{key}:{number}" for key in "ab" for number in range(20)]
        with anyio.fail_after(60):
            async with (
                worker("consume", broker_url, name, name) as one,
                worker("consume", broker_url, name, name) as two,
                worker("produce", broker_url, name, "a", "20"),
                worker("produce", broker_url, name, "b", "20"),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(listen, one)
                tasks.start_soon(listen, two)
                while not set(expected) <= set(got) or await broker.lag(name, name):
                    await anyio.sleep(0.02)
                assert await one.leave() == 0
                assert await two.leave() == 0
    firsts = list(dict.fromkeys(line for line in got if line != "joined"))
    for key in "ab":
        assert [line for line in firsts if line[0] == key] == [f"{key}:{number}" for number in range(20)]


async def broker_lag(url: str, name: str) -> int:
    async with brokers.connect(url) as broker:
        return await broker.lag(name, name)
