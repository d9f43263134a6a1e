"""Positions that a partition does not have, as kafka-python's client meets them."""

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaConsumer as RawConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream import broker as brokers
from mentor_stream.broker import (
    EARLIEST,
    Bounds,
    Broker,
    BrokerUnavailable,
    OffsetGap,
    TopicPartition,
    TopicSpec,
)
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka.intake import Intake
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import parse
from mentor_stream.broker.kafka.source import Plan, plan
from tests.broker.kafka.operator import Operator
from tests.broker.traffic import fill, take, values
from tests.cluster import Cluster, needs_nodes

pytestmark = pytest.mark.anyio


@pytest.fixture
async def broker(kafka: str) -> AsyncIterator[Broker]:
    async with brokers.connect(f"kafka://{kafka}") as broker:
        yield broker


@pytest.fixture
def operator(kafka: str) -> Operator:
    return Operator(kafka)


def test_a_plan_knows_gaps_and_ends_from_the_bounds():
    here, gone, beyond, empty, begin = (TopicPartition("topic", number) for number in range(5))
    bounds = dict.fromkeys((here, gone, beyond), Bounds(5, 10)) | dict.fromkeys((empty, begin), Bounds(7, 7))
    start = {here: 6, gone: 4, beyond: 11, empty: 7, begin: EARLIEST}
    assert plan(start, bounds) == Plan(
        begins={here: 6, gone: 5, beyond: 5, empty: 7, begin: EARLIEST},
        ends={here: 10, gone: 10, beyond: 10},
        gaps=[Gap(gone, 4, Bounds(5, 10)), Gap(beyond, 11, Bounds(5, 10))],
    )


async def test_a_reader_overtaken_between_two_polls_stops_or_goes_on_where_messages_are(
    broker, operator, name
):
    place = TopicPartition(name, 0)
    await fill(broker, name, 0)
    async with (
        broker.producer() as producer,
        broker.reader({place: 0}, on_gap="earliest") as lenient,
        broker.reader({place: 0}) as strict,
    ):
        await producer.send(name, b"key", b"0")
        for reader in (lenient, strict):
            assert values(await take(reader, 1)) == [0]
        for number in range(1, 10):
            await producer.send(name, b"key", b"%d" % number)
        await operator.delete_before(name, {0: 7})
        assert values(await take(lenient, 3)) == [7, 8, 9]
        assert lenient.skipped == 6
        for _ in range(2):  # who asks again is told again
            with pytest.raises(
                OffsetGap, match="message 1 is due, but 7 to 9 are kept: retention was faster"
            ):
                await take(strict, 1)


async def test_a_reader_whose_end_is_gone_comes_to_its_end(broker, operator, name):
    await fill(broker, name, 10)
    places = {TopicPartition(name, 0): 2}
    async with broker.reader(places, follow=False, on_gap="earliest") as reader:
        await fill(broker, name, 10)
        await operator.delete_before(name, {0: 15})
        with anyio.fail_after(20):
            assert [message async for message in reader] == []
        assert reader.skipped == 8


async def test_a_topic_made_anew_under_a_reader_is_noticed(broker, operator, name):
    await fill(broker, name, 5)
    place = TopicPartition(name, 0)
    async with broker.reader({place: 0}) as strict, broker.reader({place: 0}, on_gap="earliest") as lenient:
        for reader in (strict, lenient):
            assert values(await take(reader, 5)) == list(range(5))
        await operator.delete(name)
        await fill(broker, name, 20)
        # until a client hears of it, it may read on where it was
        with anyio.fail_after(30), pytest.raises(OffsetGap, match="the position is of another stream"):
            assert [message async for message in strict]
        read: list[int] = []
        with anyio.fail_after(30):
            async for message in lenient:
                read.append(message.offset)
                if read[-20:] == list(range(20)):
                    break


async def test_a_reader_of_some_partitions_takes_in_those_added_and_not_those_left_out(broker, name):
    await broker.create_topics([TopicSpec(name, partitions=2)])
    async with broker.reader({TopicPartition(name, 1): EARLIEST}) as reader:
        await broker.alter_topic(TopicSpec(name, 4))
        sent: list[int] = []
        async with broker.producer() as producer:
            while not {2, 3} <= set(sent):
                sent.append((await producer.send(name, b"%d" % len(sent), b"")).partition)
        wanted = [partition for partition in sent if partition != 0]
        assert sorted(m.partition for m in await take(reader, len(wanted))) == sorted(wanted)


@contextmanager
def intake(servers: str, topic: str, position: OffsetAndMetadata) -> Generator[Intake]:
    """An intake that reads partition 0 from there."""
    settings = parse(f"kafka://{servers}", {})
    raw = RawConsumer(**settings.client_options(), **consumer_options(settings))
    try:
        raw.assign([KafkaPartition(topic, 0)])
        # raw.seek() knows no epochs; they come from what was read
        raw._subscription.seek(KafkaPartition(topic, 0), position)  # pyright: ignore[reportAttributeAccessIssue]
        yield Intake(raw, [topic])
    finally:
        close(raw)


@pytest.mark.parametrize(
    "position",
    [
        OffsetAndMetadata(50, "", 0),  # the leader lost its end: its epoch ended earlier than we read
        OffsetAndMetadata(5, "", 7),  # of an epoch that this leader never had
    ],
)
async def test_a_position_in_a_lost_history_is_a_gap(kafka, broker, name, position):
    await fill(broker, name, 10)

    def read() -> tuple[list[Gap], list[int]]:
        gaps: list[Gap] = []
        offsets: list[int] = []
        with intake(kafka, name, position) as polled_by:
            for _ in range(100):
                polled = polled_by.poll(100, 0.2)
                gaps += polled.gaps
                offsets += [message.offset for message in polled.messages]
                if len(offsets) >= 10:
                    break
        return gaps, offsets

    with anyio.fail_after(60):
        gaps, offsets = await to_thread.run_sync(partial(read))
    assert gaps == [Gap(TopicPartition(name, 0), position.offset, Bounds(0, 10))]
    assert gaps[0].foreign
    assert offsets == list(range(10))


@needs_nodes
@pytest.mark.slow
async def test_reading_what_is_there_is_given_up_when_the_cluster_hangs(tmp_path: Path, name: str):
    with Cluster(tmp_path) as node:
        async with brokers.connect(f"{node.url}?connect_timeout=2") as broker:
            await broker.create_topics([TopicSpec(name)])
            async with broker.producer() as producer:
                for _ in range(24):  # more than the two answers that the client may hold, and what sockets do
                    await producer.send(name, b"key", bytes(3 * 2**20))
            async with broker.reader({TopicPartition(name, 0): 0}, follow=False, prefetch=1) as reader:
                assert (await take(reader, 1))[0].offset == 0
                node.stop(1)
                with anyio.fail_after(60), pytest.raises(BrokerUnavailable, match=r"run\.broker"):
                    async for _ in reader:
                        pass
                node.resume(1)
