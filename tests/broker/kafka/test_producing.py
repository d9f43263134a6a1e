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


def test_a_byte_budget_is_never_exceeded_and_first_come_is_first_served():
    gone: list[str] = []
    budget: ByteBudget[str] = ByteBudget(100, lambda name: not gone.append(name))
    for name, size in {"a": 60, "b": 50, "c": 10, "d": 40}.items():
        budget.add(name, size)
    assert (gone, budget.used) == (["a"], 60)
    budget.give(60)
    assert (gone, budget.used) == (["a", "b", "c", "d"], 100)


def test_what_is_above_the_byte_budget_goes_alone():
    gone: list[str] = []
    budget: ByteBudget[str] = ByteBudget(100, lambda name: not gone.append(name))
    budget.add("large", 500)
    budget.add("small", 1)
    assert gone == ["large"]
    budget.give(500)
    assert gone == ["large", "small"]


def test_what_nobody_waits_for_any_more_takes_no_bytes():
    asked: list[int] = []
    budget: ByteBudget[int] = ByteBudget(100, lambda number: bool(asked.append(number)) or number == 0)
    for number in range(5_000):
        budget.add(number, 100)
    budget.give(100)
    assert (len(asked), budget.used) == (5_000, 0)


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
