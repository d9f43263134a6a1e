"""Appending to Kafka: what kafka-python's producer does not do by itself, or does and should not."""

import logging
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaProducer as RawProducer

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerError, BrokerUnavailable, MessageTooLarge, TopicSpec, UnknownTopic
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.losses import Losses
from mentor_stream.broker.kafka.sender import mended_producer
from tests.broker.kafka.operator import Operator
from tests.broker.traffic import everything
from tests.cluster import Cluster, needs_nodes

pytestmark = pytest.mark.anyio
MIB = 2**20


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


async def test_what_other_threads_hand_over_arrives_once_and_in_order():
    arrived: list[tuple[int, int]] = []
    handover: Handover[tuple[int, int]] = Handover(arrived.append)

    def put(thread: int) -> None:
        for number in range(2_000):
            handover.put((thread, number))

    async with anyio.create_task_group() as tasks:
        for thread in range(4):
            tasks.start_soon(to_thread.run_sync, put, thread)
    with anyio.fail_after(10):
        while len(arrived) < 8_000:
            await anyio.sleep(0.01)
    for thread in range(4):
        assert [number for of, number in arrived if of == thread] == list(range(2_000))


async def test_many_messages_for_a_topic_with_a_small_limit_arrive_though_together_they_exceed_it(
    kafka: str, name: str
):
    async with brokers.connect(f"kafka://{kafka}") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, max_message_bytes=10_000)])
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(producer.send, name, b"key", b"%d" % number + bytes(5_000))
        values = [message.value.rstrip(b"\0") for message in await everything(broker, name)]
    assert sorted(map(int, values)) == list(range(200))


async def test_a_key_has_the_partition_that_every_client_of_kafka_gives_it(kafka: str, name: str):
    keys = [b"", *(b"%d" % number * length for number in range(10) for length in range(1, 10))]
    async with brokers.connect(f"kafka://{kafka}") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name, partitions=7)])
        ours = [(await producer.send(name, key, b"ours")).partition for key in keys]
    with closing(RawProducer(bootstrap_servers=kafka)) as raw:
        theirs = [raw.send(name, b"theirs", key=key).get(30).partition for key in keys]
    assert ours == theirs
    assert len(set(ours)) == 7


async def test_a_message_that_the_broker_refuses_ends_nothing_but_itself(kafka: str, name: str):
    """Its limit is lowered after the producer learned it; kafka-python would give up all topics for ever."""
    url = f"kafka://{kafka}"
    async with brokers.connect(url) as broker, brokers.connect(url) as elsewhere:
        await broker.create_topics([TopicSpec(name), TopicSpec(name + "-2")])
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"0")
            await elsewhere.alter_topic(TopicSpec(name, max_message_bytes=10_000))
            with anyio.fail_after(30):
                with pytest.raises(MessageTooLarge, match=rf"topic {name}.* 20003 bytes.*max_record_bytes"):
                    await producer.send(name, b"key", bytes(20_000))
                receipts = [await producer.send(name, b"key", b"%d" % number) for number in (1, 2)]
                await producer.send(name + "-2", b"key", b"")
                with pytest.raises(MessageTooLarge, match="10000 allowed"):
                    await producer.send(name, b"key", bytes(20_000))
    assert [receipt.offset for receipt in receipts] == [1, 2]


async def test_a_topic_created_after_it_was_missed_is_there_at_once(kafka: str, name: str):
    url = f"kafka://{kafka}"
    async with (
        brokers.connect(url) as broker,
        brokers.connect(url) as elsewhere,
        broker.producer() as producer,
    ):
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(50):
                    tasks.start_soon(is_missed, producer, name)
        await elsewhere.create_topics([TopicSpec(name)])
        with anyio.fail_after(10):
            assert (await producer.send(name, b"key", b"value")).offset == 0


async def is_missed(producer: brokers.Producer, topic: str) -> None:
    with pytest.raises(UnknownTopic, match=topic):
        await producer.send(topic, b"key", b"value")


async def test_what_is_sent_while_the_producer_closes_or_later_is_refused(kafka: str, name: str):
    async with brokers.connect(f"kafka://{kafka}") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"value")
        with anyio.fail_after(5), pytest.raises(BrokerError, match="closed"):
            await producer.send(name, b"key", b"value")


@needs_nodes
@pytest.mark.slow
async def test_a_topic_deleted_at_work_is_missed_and_holds_up_no_other(tmp_path: Path, name: str):
    with Cluster(tmp_path, properties={"auto.create.topics.enable": "true"}) as node:
        url = f"{node.url}?send_timeout=10"
        async with brokers.connect(url) as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec(name), TopicSpec(name + "-2")])
            for topic in (name, name + "-2"):
                await producer.send(topic, b"key", b"value")
            await Operator(node.servers).delete(name)
            with anyio.fail_after(40):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(misses_at_last, producer, name)
                    for _ in range(20):
                        with anyio.fail_after(10):
                            await producer.send(name + "-2", b"key", b"value")
                        await anyio.sleep(0.3)
            assert name not in await broker.topics()


async def misses_at_last(producer: brokers.Producer, topic: str) -> None:
    """Sends until the topic is missed; what the client took before it noticed is tried for long."""
    missed = False
    while not missed:
        with anyio.move_on_after(3):
            try:
                await producer.send(topic, b"key", b"value")
            except UnknownTopic:
                missed = True


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("mortal")) as node:
        yield node


@pytest.fixture
def node(mortal: Cluster) -> Cluster:
    """A node of our own, alive."""
    mortal.start()
    return mortal


@needs_nodes
@pytest.mark.slow
async def test_a_message_that_no_broker_acknowledges_is_given_up_after_the_send_timeout_with_the_reason(
    node: Cluster, name: str
):
    url = f"{node.url}?send_timeout=2"
    async with brokers.connect(url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        await producer.send(name, b"key", b"value")
        node.kill(1)
        for _ in range(2):
            with anyio.fail_after(15), pytest.raises(BrokerUnavailable) as given_up:
                await producer.send(name, b"key", b"value")
            told = str(given_up.value)
            assert f"a message for {name} was not acknowledged within 2 s (send_timeout)" in told
            assert f"{node.servers}: Connection refused" in told


@needs_nodes
@pytest.mark.slow
async def test_a_broker_that_hangs_is_said_not_to_answer_and_when_it_goes_on_so_do_we(
    node: Cluster, name: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, "kafka")
    async with brokers.connect(f"{node.url}?send_timeout=3") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec(name)])
        await producer.send(name, b"key", b"value")
        for _ in range(3):
            node.stop(1)
            try:
                with anyio.fail_after(15), pytest.raises(BrokerUnavailable, match="do not answer in time"):
                    await producer.send(name, b"key", b"value")
            finally:
                node.resume(1)
            with anyio.fail_after(40):
                await gets_through(producer, name)
    looks = [line for line in caplog.messages if "not ready; delaying produce" in line]
    assert len(looks) < 1_000  # fifty a second, and not as many as the processor can do


async def gets_through(producer: brokers.Producer, topic: str) -> None:
    """As a component would: what could not be sent in time is sent again."""
    while True:
        try:
            await producer.send(topic, b"key", b"value")
        except BrokerUnavailable:
            continue
        return


@needs_nodes
@pytest.mark.slow
async def test_a_request_for_a_producer_id_that_is_not_answered_in_time_is_made_again(
    node: Cluster, name: str
):
    """kafka-python would refuse every message from then on."""
    async with brokers.connect(node.url) as broker:
        await broker.create_topics([TopicSpec(name)])
    options = {"bootstrap_servers": node.servers, "enable_idempotence": True, "request_timeout_ms": 500}
    raw = await to_thread.run_sync(partial(mended_producer, {}, **options))
    try:
        await to_thread.run_sync(raw.send(name, b"value").get, 30)
        manager: Any = raw._transaction_manager  # pyright: ignore[reportAttributeAccessIssue]
        requests = counting(manager)
        node.stop(1)
        try:
            manager.reset_producer_id()
            raw._sender.wakeup()  # pyright: ignore[reportAttributeAccessIssue]
            with anyio.fail_after(30):
                while len(requests) < 2:
                    await anyio.sleep(0.01)
        finally:
            node.resume(1)
        assert (await to_thread.run_sync(raw.send(name, b"value").get, 30)).offset == 1
    finally:
        raw.close(timeout=5)


def counting(manager: Any) -> list[object]:
    """Grows with every request that a producer makes for itself."""
    made: list[object] = []
    enqueue = manager._enqueue_request

    def noted(handler: object) -> None:
        made.append(handler)
        enqueue(handler)

    manager._enqueue_request = noted
    return made


@needs_nodes
@pytest.mark.slow
async def test_while_the_broker_is_away_thousands_of_sends_wait_in_little_memory_and_none_is_lost_silently(
    node: Cluster, name: str
):
    value, count, refused = bytes(100_000), 2_000, []

    async def send(producer: brokers.Producer) -> None:
        try:
            await producer.send(name, b"key", value)
        except BrokerUnavailable:
            refused.append(True)

    async with brokers.connect(f"{node.url}?send_timeout=5") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer(max_inflight_bytes=8 * MIB) as producer:
            await producer.send(name, b"key", value)
            node.kill(1)
            before = resident_bytes()
            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(send, producer)
                await anyio.sleep(3)
                grown = resident_bytes() - before
            assert len(refused) == count
    assert grown < 80 * MIB < count * len(value)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@needs_nodes
@pytest.mark.slow
async def test_messages_whose_senders_are_gone_and_that_nobody_acknowledged_are_told_at_the_end(
    node: Cluster, name: str, caplog: pytest.LogCaptureFixture
):
    async with brokers.connect(f"{node.url}?send_timeout=2") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"value")
            node.kill(1)
            with anyio.move_on_after(0.2):
                async with anyio.create_task_group() as tasks:
                    for _ in range(50):
                        tasks.start_soon(producer.send, name, b"key", b"value")
    told = [line for line in caplog.messages if line.startswith("messages lost whose senders did not wait")]
    assert 0 < len(told) <= 2  # as they are given up, and the rest at the end
    assert sum(int(line.split(": ")[1].split(";")[0]) for line in told) == 50
    assert f"the last: run.broker is {node.url}: a message for {name} was not acknowledged" in told[-1]


@needs_nodes
@pytest.mark.slow
async def test_what_its_sender_was_told_is_not_told_again_as_lost(
    node: Cluster, name: str, caplog: pytest.LogCaptureFixture
):
    async with brokers.connect(f"{node.url}?send_timeout=1") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            await producer.send(name, b"key", b"value")
            node.stop(1)
            try:
                for _ in range(2):  # after the first the client waits for a new id, and for no time-out
                    with anyio.fail_after(15), pytest.raises(BrokerUnavailable):
                        await producer.send(name, b"key", b"value")
            finally:
                node.resume(1)
            with anyio.fail_after(40):
                await gets_through(producer, name)
    assert not [line for line in caplog.messages if "lost" in line]


def test_losses_are_told_together_and_sparingly(caplog: pytest.LogCaptureFixture):
    losses = Losses(seconds=3600)
    losses.tell(at_once=True)
    for number in range(3):
        losses.add(BrokerError(f"reason {number}"))
    losses.tell()
    for number in range(3, 10):
        losses.add(BrokerError(f"reason {number}"))
        losses.tell()
    losses.tell(at_once=True)
    losses.tell(at_once=True)
    begin = "messages lost whose senders did not wait"
    assert caplog.messages == [f"{begin}: 3; the last: reason 2", f"{begin}: 7; the last: reason 9"]
