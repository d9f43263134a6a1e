"""Brokers that are not there, go away and come back."""

from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerUnavailable, TopicSpec
from tests.cluster import Cluster, needs_nodes

pytestmark = pytest.mark.anyio
NOBODY_LISTENS = "127.0.0.1:1"


async def test_a_broker_that_is_not_there_is_named_after_the_connect_timeout():
    with (
        anyio.fail_after(10),
        pytest.raises(BrokerUnavailable, match=rf"run\.broker is kafka://{NOBODY_LISTENS}"),
    ):
        async with brokers.connect(f"kafka://{NOBODY_LISTENS}?connect_timeout=0.3"):
            pass


async def test_waiting_for_a_broker_can_be_cancelled():
    with anyio.fail_after(10), anyio.move_on_after(0.1) as scope:
        async with brokers.connect(f"kafka://{NOBODY_LISTENS}?connect_timeout=60"):
            pass
    assert scope.cancelled_caught


@needs_nodes
@pytest.mark.slow
async def test_a_broker_killed_and_started_again_has_what_it_acknowledged_and_everyone_goes_on(
    tmp_path: Path, name: str
):
    node = Cluster(tmp_path)
    await to_thread.run_sync(node.start)
    received: list[int] = []
    try:
        async with brokers.connect(f"{node.url}?connect_timeout=1") as broker:
            await broker.create_topics([TopicSpec(name)])
            async with broker.producer() as producer, broker.consumer([name], group=name) as consumer:

                async def receive() -> None:
                    async for message in consumer:
                        received.append(int(message.value))
                        consumer.done(message)
                        if received[-1] == 200:
                            tasks.cancel_scope.cancel()

                async def send() -> None:
                    for number in range(201):
                        await producer.send(name, b"key", b"%d" % number)
                        await anyio.sleep(0.01)

                with anyio.fail_after(150):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(receive)
                        tasks.start_soon(send)
                        while len(received) < 50:
                            await anyio.sleep(0.01)
                        node.kill(1)
                        with pytest.raises(BrokerUnavailable, match=r"run\.broker"):
                            await broker.bounds(name)
                        await to_thread.run_sync(node.start)
            assert await broker.lag(name, name) == 0
    finally:
        node.close()
    assert sorted(set(received)) == list(range(201))
