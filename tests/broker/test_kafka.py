"""What only the Kafka engine has: its URLs, its byte budget, and brokers that come and go."""

from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerError, BrokerUnavailable, TopicPartition, TopicSpec
from mentor_stream.broker.kafka.admin import topic_config
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.settings import parse
from tests.cluster import Cluster, needs_nodes

pytestmark = pytest.mark.anyio
NOBODY_LISTENS = "127.0.0.1:1"


def test_a_url_names_servers_and_options():
    settings = parse("kafka://one:9093,two?send_timeout=2.5&replication=3", {})
    assert settings.addresses() == [("one", 9093), ("two", 9092)]
    assert (settings.send_timeout, settings.replication) == (2.5, 3)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://", "expected kafka://host:port"),
        ("kafka://host/path", "expected kafka://host:port"),
        ("kafka://host:port", "host:port"),
        ("kafka://host?sendtimeout=1", "'sendtimeout': known are connect_timeout"),
        ("kafka://host?send_timeout=soon", "send_timeout=soon: expected a number above 0"),
        ("kafka://host?replication=1.5", "replication=1.5: expected a whole number above 0"),
    ],
)
def test_a_url_that_cannot_work_is_refused_with_the_reason(url: str, problem: str):
    with pytest.raises(BrokerError, match=r"run\.broker") as refused:
        parse(url, {})
    assert problem in str(refused.value)


def test_credentials_come_from_the_environment_and_are_never_shown():
    environment = {
        "MENTOR_STREAM_KAFKA_USERNAME": "ada",
        "MENTOR_STREAM_KAFKA_PASSWORD": "secret",
        "MENTOR_STREAM_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    }
    settings = parse("kafka://host?sasl_mechanism=SCRAM-SHA-256", environment)
    assert settings.client_options().items() >= {
        ("sasl_plain_username", "ada"),
        ("sasl_plain_password", "secret"),
        ("security_protocol", "SASL_SSL"),
        ("sasl_mechanism", "SCRAM-SHA-256"),
    }
    assert "secret" not in f"{settings} {settings.url}"


def test_credentials_in_a_url_are_refused_without_repeating_them():
    with pytest.raises(BrokerError, match="MENTOR_STREAM_KAFKA_PASSWORD") as refused:
        parse("kafka://ada:secret@host", {})
    assert "secret" not in str(refused.value)


def test_a_topic_without_retention_keeps_everything():
    config = topic_config(TopicSpec("topic"))
    assert (config["retention.ms"], config["retention.bytes"]) == ("-1", "-1")


def test_segments_are_a_part_of_what_is_kept_but_hold_the_largest_message():
    config = topic_config(
        TopicSpec("topic", retention_seconds=60, retention_bytes=2**28, max_message_bytes=2**27)
    )
    assert (config["retention.ms"], config["segment.ms"]) == ("60000", "15000")
    assert 2**27 < int(config["segment.bytes"]) <= 2**28


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


async def test_reading_goes_on_at_the_first_message_that_retention_left(kafka: str, name: str):
    place = TopicPartition(name, 0)
    async with brokers.connect(f"kafka://{kafka}") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            for number in range(10):
                await producer.send(name, b"key", b"%d" % number)
        async with broker.reader({place: 2}, prefetch=1) as slow:
            messages = aiter(slow)
            assert (await anext(messages)).offset == 2
            await to_thread.run_sync(partial(_delete_before, kafka, name, 7))
            with anyio.fail_after(20):
                assert [(await anext(messages)).offset for _ in range(2)][-1] in (4, 8)
        async with broker.reader({place: 2}, follow=False) as late:
            assert [message.offset async for message in late] == [7, 8, 9]
        assert await broker.lag(name, name) == 3


def _delete_before(servers: str, topic: str, offset: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.delete_records({KafkaPartition(topic, 0): offset})
    admin.close()


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
