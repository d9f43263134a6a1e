"""Appending to Kafka: the byte budget, and brokers that do not acknowledge."""

from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerUnavailable, TopicSpec
from mentor_stream.broker.kafka.budget import ByteBudget
from tests.cluster import Cluster, needs_nodes

pytestmark = pytest.mark.anyio


async def test_a_byte_budget_is_never_exceeded_and_first_come_is_first_served():
    budget, order = ByteBudget(100), []

    async def take(size: int) -> None:
        await budget.take(size)
        order.append(size)
        assert budget.used <= 100

    async with anyio.create_task_group() as tasks:
        for size in (60, 50, 10, 40):
            tasks.start_soon(take, size)
            await anyio.wait_all_tasks_blocked()
        assert order == [60]
        budget.give(60)
        await anyio.wait_all_tasks_blocked()
        assert order == [60, 50, 10, 40]


async def test_a_message_above_the_byte_budget_goes_alone():
    budget = ByteBudget(100)
    await budget.take(500)
    with anyio.move_on_after(0.01) as patience:
        await budget.take(1)
    assert patience.cancelled_caught
    budget.give(500)
    with anyio.fail_after(1):
        await budget.take(1)


@needs_nodes
@pytest.mark.slow
async def test_a_message_that_no_broker_acknowledges_is_given_up_after_the_send_timeout(
    tmp_path: Path, name: str
):
    node = Cluster(tmp_path)
    await to_thread.run_sync(node.start)
    try:
        async with brokers.connect(f"{node.url}?send_timeout=1") as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec(name)])
            await producer.send(name, b"key", b"value")
            node.kill(1)
            for _ in range(2):
                with anyio.fail_after(10), pytest.raises(BrokerUnavailable, match=r"run\.broker"):
                    await producer.send(name, b"key", b"value")
    finally:
        node.close()
