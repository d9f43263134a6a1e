"""The contract: one process at a time holds a group at a topic."""

import os
import signal

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, Claimed, TopicSpec
from tests.broker.worker import worker

pytestmark = pytest.mark.anyio


async def test_a_second_is_refused_with_what_the_first_said_of_itself_until_that_one_leaves(
    broker: Broker, broker_url: str, name: str
) -> None:
    await broker.create_topics([TopicSpec(name)])
    async with broker.claim(name, group="own", holder="the first"), brokers.connect(broker_url) as other:
        with pytest.raises(Claimed, match="the first"):
            async with other.claim(name, group="own", holder="the second"):
                pass
        async with other.claim(name, group="another", holder="the second"):
            pass
    async with broker.claim(name, group="own", holder="the third"):
        pass


async def test_of_many_at_once_one_holds_it_at_a_time(broker: Broker, name: str) -> None:
    await broker.create_topics([TopicSpec(name)])
    holding, held = 0, 0

    async def hold(holder: str) -> None:
        nonlocal holding, held
        try:
            async with broker.claim(name, group="own", holder=holder):
                holding += 1
                held += 1
                assert holding == 1
                await broker.bounds(name)
                assert holding == 1
                holding -= 1
        except Claimed:
            pass

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(hold, f"number {number}")
    assert held >= 1


async def test_one_that_was_killed_keeps_nobody_out(broker: Broker, broker_url: str, name: str) -> None:
    await broker.create_topics([TopicSpec(name)])
    async with worker("claim", broker_url, name, "own") as first:
        assert await first.line() == "claimed"
        first.process.kill()
        async with broker.claim(name, group="own", holder="the next"):
            pass


async def test_one_that_hung_while_another_came_learns_of_it(
    broker: Broker, broker_url: str, name: str
) -> None:
    if broker_url.startswith("sqlite"):
        pytest.skip("a lock of the kernel is not lost while its process lives")
    await broker.create_topics([TopicSpec(name)])
    async with worker("claim", broker_url, name, "own") as first:
        assert await first.line() == "claimed"
        os.kill(first.process.pid, signal.SIGSTOP)
        async with broker.claim(name, group="own", holder="the next"):
            os.kill(first.process.pid, signal.SIGCONT)
            assert await first.line() == "lost to the next"
