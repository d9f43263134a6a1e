"""The contract: the next message is gone, because retention was faster, or was never there."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from mentor_stream.broker import (
    EARLIEST,
    Broker,
    Consumer,
    Message,
    OffsetGap,
    OnGap,
    Reader,
    TopicPartition,
)
from mentor_stream.broker.base import BUFFER_BYTES
from tests.broker.traffic import BLOCK, collect, fill, forget, short_lived, take

pytestmark = pytest.mark.anyio

Taking = tuple[Consumer | Reader, Callable[[Message], None]]
"""Messages, and how to be done with one."""
Opening = Callable[[Broker, TopicPartition, OnGap], AbstractAsyncContextManager[Taking]]

BEYOND_THE_BUFFER = 2 * BUFFER_BYTES // BLOCK


@pytest.fixture
def place(name: str) -> TopicPartition:
    return TopicPartition(name, 0)


@pytest.fixture
async def first(broker: Broker, name: str, patience: float) -> int:
    """A topic that forgot its first messages, after a group committed 3 of them; the first one kept."""
    await broker.create_topics([short_lived(name)])
    await fill(broker, name, 10)
    async with broker.consumer([name], group=name) as consumer:
        for message in (await take(consumer, 10))[:3]:
            consumer.done(message)
    return await forget(broker, name, 10, patience)


async def test_a_consumer_stops_before_a_gap_and_the_gap_stays(broker, name, first):
    for _ in range(2):
        async with broker.consumer([name], group=name) as consumer:
            with pytest.raises(OffsetGap, match=rf"{name}.*\b3\b.*on_gap"):
                await take(consumer, 1)
            assert consumer.skipped == 0


async def test_a_consumer_that_asks_for_it_goes_on_behind_the_gap_and_counts(broker, name, first):
    async with broker.consumer([name], group=name, on_gap="earliest") as consumer:
        (message,) = await take(consumer, 1)
        assert message.offset >= first
        assert consumer.skipped == message.offset - 3
        consumer.done(message)
    async with broker.consumer([name], group=name) as consumer:
        (following,) = await take(consumer, 1)
        assert (following.offset, consumer.skipped) == (message.offset + 1, 0)


async def test_a_group_that_is_new_has_no_gap(broker, name, first):
    async with broker.consumer([name], group=name + "-new") as consumer:
        (message,) = await take(consumer, 1)
        assert message.offset >= first
        assert consumer.skipped == 0


async def test_a_reader_stops_before_a_gap_and_the_gap_stays(broker, place, first):
    for follow in (True, False):
        async with broker.reader({place: 3}, follow=follow) as reader:
            with pytest.raises(OffsetGap, match=rf"{place.topic}.*\b3\b.*on_gap"):
                await take(reader, 1)
            assert reader.skipped == 0


async def test_a_reader_that_asks_for_it_goes_on_behind_the_gap_and_counts(broker, place, first):
    for follow in (True, False):
        async with broker.reader({place: 3}, follow=follow, on_gap="earliest") as reader:
            one, two = await take(reader, 2)
            assert one.offset >= first
            assert two.offset == one.offset + 1
            assert reader.skipped == one.offset - 3


async def test_reading_from_the_earliest_message_has_no_gap(broker, place, first):
    for follow in (True, False):
        async with broker.reader({place: EARLIEST}, follow=follow) as reader:
            (message,) = await take(reader, 1)
            assert message.offset >= first
            assert reader.skipped == 0


@pytest.mark.parametrize("follow", [True, False])
async def test_an_offset_beyond_the_end_is_a_gap(broker, name, place, follow):
    await fill(broker, name, 10)
    async with broker.reader({place: 11}, follow=follow) as reader:
        with pytest.raises(OffsetGap, match=rf"{name}.*\b11\b.*on_gap"):
            await take(reader, 1)
    async with broker.reader({place: 11}, follow=follow, on_gap="earliest") as reader:
        assert [message.offset for message in await take(reader, 10)] == list(range(10))
        assert reader.skipped == 0


@asynccontextmanager
async def consuming(broker: Broker, place: TopicPartition, on_gap: OnGap) -> AsyncGenerator[Taking]:
    async with broker.consumer([place.topic], group=place.topic, prefetch=2, on_gap=on_gap) as consumer:
        yield consumer, consumer.done


@asynccontextmanager
async def reading(broker: Broker, place: TopicPartition, on_gap: OnGap) -> AsyncGenerator[Taking]:
    async with broker.reader({place: 0}, prefetch=2, on_gap=on_gap) as reader:
        yield reader, lambda _: None


@pytest.mark.parametrize("taking", [consuming, reading])
async def test_who_is_overtaken_by_retention_gets_what_it_has_and_stops(
    broker, name, place, patience, taking: Opening
):
    await broker.create_topics([short_lived(name)])
    await fill(broker, name, 3)
    async with taking(broker, place, "fail") as (messages, done):
        got = await take(messages, 1)
        done(got[0])
        first = await forget(broker, name, BEYOND_THE_BUFFER, patience)
        with pytest.raises(OffsetGap, match=rf"{name}.*on_gap"):
            await collect(messages, got, done)
        assert messages.skipped == 0
    assert [message.offset for message in got] == list(range(len(got)))
    assert len(got) < first


@pytest.mark.parametrize("taking", [consuming, reading])
async def test_who_is_overtaken_by_retention_goes_on_behind_the_gap_when_it_asks_for_it(
    broker, name, place, patience, taking: Opening
):
    await broker.create_topics([short_lived(name)])
    await fill(broker, name, 3)
    async with taking(broker, place, "earliest") as (messages, done):
        got = await take(messages, 1)
        done(got[0])
        await forget(broker, name, BEYOND_THE_BUFFER, patience)
        end = (await broker.bounds(name))[place].next
        await collect(messages, got, done, last=end - 1)
        offsets = [message.offset for message in got]
        assert offsets == sorted(set(offsets))
        assert messages.skipped == end - len(offsets) > 0
