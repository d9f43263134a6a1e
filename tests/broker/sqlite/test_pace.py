"""The event loop has other tasks than the one that consumes."""

import time

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, TopicPartition, TopicSpec

pytestmark = pytest.mark.anyio

COUNT = 40


@pytest.mark.parametrize("how", ["consume", "read"])
async def test_a_task_that_never_waits_while_it_takes_messages_lets_the_others_run(tmp_path, how):
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic")])
        async with broker.producer() as producer:
            for _ in range(COUNT + 1):
                await producer.send("topic", b"key", b"value")
        async with (
            broker.consumer(["topic"], group="group")
            if how == "consume"
            else broker.reader({TopicPartition("topic", 0): EARLIEST}) as messages,
            anyio.create_task_group() as tasks,
        ):
            following = aiter(messages)
            await anext(following)  # with it come all the others
            tasks.start_soon(others)
            await anyio.lowlevel.checkpoint()
            turns = 0
            for _ in range(COUNT):
                busy_until = time.monotonic() + 0.002
                while time.monotonic() < busy_until:
                    pass
                await anext(following)
            tasks.cancel_scope.cancel()
    assert turns >= COUNT - 1
