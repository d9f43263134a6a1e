"""A cluster of three nodes, every record on all of them: nodes die, hang and come back under load."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaAdminClient

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, BrokerUnavailable, Producer, TopicPartition, TopicSpec
from tests.cluster import Cluster, needs_nodes

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_nodes]

SENDERS = 4


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("nodes"), 3) as cluster:
        yield cluster


@pytest.fixture
def cluster(nodes: Cluster) -> Cluster:
    """The three of them, all alive."""
    nodes.start()
    return nodes


class Traffic:
    """Senders and a group member on one partition; what was acknowledged and what arrived."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.acknowledged: list[bytes] = []
        self.arrived: list[bytes] = []
        self._ending = False

    async def send(self, producer: Producer, sender: int) -> None:
        number = 0
        while not self._ending:
            value = b"%d:%d" % (sender, number)
            await producer.send(self.topic, b"key", value)
            self.acknowledged.append(value)
            number += 1

    async def receive(self, consumer: brokers.Consumer) -> None:
        async for message in consumer:
            self.arrived.append(message.value)
            consumer.done(message)

    async def moves(self, seconds: float, messages: int = 100) -> None:
        """Returns when so many more were acknowledged and arrived; fails when they do not in time."""
        sent, got = len(self.acknowledged) + messages, len(self.arrived) + messages
        with anyio.fail_after(seconds):
            while len(self.acknowledged) < sent or len(self.arrived) < got:
                await anyio.sleep(0.05)

    async def end(self) -> None:
        """Stop sending; returns when all that was acknowledged has arrived."""
        self._ending = True
        with anyio.fail_after(60):
            while not set(self.acknowledged) <= set(self.arrived):
                await anyio.sleep(0.05)


@asynccontextmanager
async def traffic(broker: Broker, topic: str) -> AsyncGenerator[Traffic]:
    flow = Traffic(topic)
    async with (
        broker.producer() as producer,
        broker.consumer([topic], group=topic) as consumer,
        anyio.create_task_group() as tasks,
    ):
        for sender in range(SENDERS):
            tasks.start_soon(flow.send, producer, sender)
        tasks.start_soon(flow.receive, consumer)
        yield flow
        tasks.cancel_scope.cancel()


def leader(servers: str, topic: str) -> int:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        (found,) = admin.describe_topics([topic])
        return found["partitions"][0]["leader_id"]
    finally:
        admin.close()


async def log_of(broker: Broker, topic: str) -> list[bytes]:
    async with broker.reader({TopicPartition(topic, 0): 0}, follow=False) as reader:
        return [message.value async for message in reader]


async def check(broker: Broker, flow: Traffic) -> None:
    """Nothing acknowledged is lost, nothing is there twice, and each sender's messages are in order."""
    log = await log_of(broker, flow.topic)
    assert set(flow.acknowledged) <= set(log)
    assert len(set(log)) == len(log)
    for sender in range(SENDERS):
        mine = [int(value.split(b":")[1]) for value in log if value.startswith(b"%d:" % sender)]
        assert mine == sorted(mine)


async def test_the_death_of_a_busy_partitions_leader_loses_nothing_and_work_goes_on_by_itself(
    cluster: Cluster, name: str
):
    async with brokers.connect(cluster.url) as broker:
        await broker.create_topics([TopicSpec(name, replication=3)])
        async with traffic(broker, name) as flow:
            await flow.moves(60)
            cluster.kill(await to_thread.run_sync(leader, cluster.servers, name))
            await flow.moves(90)
            assert (await broker.describe(name)).under_replicated == 1
            await to_thread.run_sync(cluster.start)
            await flow.moves(60)
            await flow.end()
        await check(broker, flow)


async def test_a_leader_that_hangs_is_replaced(cluster: Cluster, name: str):
    async with brokers.connect(cluster.url) as broker:
        await broker.create_topics([TopicSpec(name, replication=3)])
        async with traffic(broker, name) as flow:
            await flow.moves(60)
            hung = await to_thread.run_sync(leader, cluster.servers, name)
            cluster.stop(hung)
            try:
                await flow.moves(90)
            finally:
                cluster.resume(hung)
            await flow.moves(60)
            await flow.end()
        await check(broker, flow)


async def test_with_two_nodes_dead_producers_say_why_and_go_on_when_the_nodes_are_back(
    cluster: Cluster, name: str
):
    async with brokers.connect(f"{cluster.url}?send_timeout=5") as broker:
        await broker.create_topics([TopicSpec(name, replication=3)])
        async with broker.producer() as producer, broker.consumer([name], group=name) as consumer:
            before = await producer.send(name, b"key", b"before")
            for node in cluster.nodes[:2]:
                cluster.kill(node)
            for _ in range(2):
                with anyio.fail_after(20), pytest.raises(BrokerUnavailable, match=r"run\.broker"):
                    await producer.send(name, b"key", b"meanwhile")
            await to_thread.run_sync(partial(cluster.start))
            after = await eventually_sent(producer, name, b"after")
            messages = aiter(consumer)
            values: list[bytes] = []
            with anyio.fail_after(60):
                while b"after" not in values:
                    values.append((await anext(messages)).value)
    assert before.offset == 0
    assert after.offset >= 1
    assert values[0] == b"before"
    assert set(values) <= {b"before", b"meanwhile", b"after"}


async def eventually_sent(producer: Producer, topic: str, value: bytes) -> brokers.Receipt:
    """As a component would: what could not be sent in time is sent again."""
    with anyio.fail_after(60):
        while True:
            try:
                return await producer.send(topic, b"key", value)
            except BrokerUnavailable:
                await anyio.sleep(0.1)
