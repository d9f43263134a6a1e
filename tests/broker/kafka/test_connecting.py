"""Brokers that are not there, go away and come back."""

import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from kafka.protocol.sasl import SaslAuthenticateRequest

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerUnavailable, TopicSpec
from mentor_stream.broker.kafka.quiet import FORGET_SECONDS, SAY_AGAIN_SECONDS, Quiet, Sparingly
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


@pytest.fixture
def silent() -> Iterator[str]:
    """host:port of somebody who takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
async def test_a_broker_that_says_nothing_is_given_up_after_the_connect_timeout(silent: str, protocol: str):
    url = f"kafka://{silent}?connect_timeout=0.5&security_protocol={protocol}"
    with anyio.fail_after(10), pytest.raises(BrokerUnavailable, match=rf"{silent}: it does not answer"):
        async with brokers.connect(url):
            pass


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
async def test_waiting_for_a_broker_that_says_nothing_can_be_cancelled(silent: str, protocol: str):
    url = f"kafka://{silent}?connect_timeout=60&security_protocol={protocol}"
    with anyio.fail_after(10), anyio.move_on_after(0.1) as scope:
        async with brokers.connect(url):
            pass
    assert scope.cancelled_caught


async def test_a_connecting_that_failed_or_was_cancelled_leaves_no_thread_behind(silent: str):
    for url in (f"kafka://{silent}?connect_timeout=0.2", f"kafka://{NOBODY_LISTENS}?connect_timeout=0.2"):
        with pytest.raises(BrokerUnavailable):
            async with brokers.connect(url):
                pass
    with anyio.move_on_after(0.1):
        async with brokers.connect(f"kafka://{silent}"):
            pass
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("kafka")] == []


async def test_waiting_for_a_broker_can_be_cancelled():
    with anyio.fail_after(10), anyio.move_on_after(0.1) as scope:
        async with brokers.connect(f"kafka://{NOBODY_LISTENS}?connect_timeout=60"):
            pass
    assert scope.cancelled_caught


def record(logger: str, line: str, *values: object, level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord(logger, level, __file__, 1, line, values, None)


def test_what_kafka_python_repeats_is_written_once_in_a_while():
    quiet = Quiet()
    line = record("kafka.coordinator", "Heartbeat poll expired, leaving group")
    assert [quiet.filter(line) for _ in range(3)] == [True, False, False]
    assert quiet.filter(record("kafka.coordinator", "Another line"))


def test_a_thing_may_be_said_again_after_a_while_or_when_it_is_over():
    sparingly = Sparingly(30)
    assert [sparingly.may_say("away", now) for now in (0, 29.9, 30, 31)] == [True, False, True, False]
    assert sparingly.may_say("another", 31)
    assert (sparingly.over("away"), sparingly.over("away")) == (True, False)
    assert sparingly.may_say("away", 31)


def test_what_was_not_said_for_long_is_forgotten_and_what_is_said_again_and_again_is_not():
    sparingly = Sparingly(30)
    assert sparingly.may_say("an error of the past", 0)
    assert all(sparingly.may_say("away", moment) for moment in range(0, int(FORGET_SECONDS) + 60, 30))
    assert (sparingly.over("an error of the past"), sparingly.over("away")) == (False, True)


def test_that_a_connection_failed_is_left_to_us_to_say():
    quiet = Quiet()
    assert not quiet.filter(record("kafka.net.manager", "Connection failed: %s", "111 ECONNREFUSED"))
    assert not quiet.filter(record("kafka.cluster", "No node available for metadata refresh"))
    assert quiet.filter(record("kafka.cluster", "Topic %s topic_id changed", "topic"))


def test_who_asks_for_kafka_pythons_narration_gets_it_but_no_passwords(caplog: pytest.LogCaptureFixture):
    quiet = Quiet()
    caplog.set_level(logging.DEBUG, "kafka")
    for _ in range(2):
        assert quiet.filter(record("kafka.net.manager", "Connection failed: %s", "111 ECONNREFUSED"))
    login = SaslAuthenticateRequest(b"\0ada\0ada\0secret")
    sending = record("kafka.net.connection", "%s Request %d: %s", "node", 1, login, level=logging.DEBUG)
    wire = record("kafka.protocol.parser", "%s Send: %r", "node", b"secret", level=logging.DEBUG)
    assert "secret" in sending.getMessage()
    assert not quiet.filter(sending)
    assert not quiet.filter(wire)


@needs_nodes
@pytest.mark.slow
async def test_a_broker_killed_and_started_again_has_what_it_acknowledged_and_everyone_goes_on(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
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
                        killed = anyio.current_time()
                        failed = rf"did not say what topic {name} keeps within .* \(connect_timeout\): a node"
                        with pytest.raises(BrokerUnavailable, match=failed):
                            await broker.bounds(name)
                        await to_thread.run_sync(node.start)
                        back = len(received)
                        with anyio.fail_after(20):
                            while len(received) == back:
                                await anyio.sleep(0.01)
            seconds = anyio.current_time() - killed
            assert await broker.lag(name, name) == 0
    finally:
        node.close()
    assert sorted(set(received)) == list(range(201))
    away = [line for line in caplog.messages if line.startswith(f"Kafka at {node.servers} cannot be reached")]
    assert 1 <= len(away) <= 1 + seconds / SAY_AGAIN_SECONDS
    assert len(caplog.messages) <= 10
