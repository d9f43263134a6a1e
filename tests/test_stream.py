"""Records in and out of a run's topics, and what becomes of bytes that are none."""

from collections.abc import AsyncIterator

import anyio
import msgspec
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.broker import TopicPartition, UnknownTopic
from mentor_stream.stream import Delivery, Stream
from mentor_stream.topics import TopicsConfig
from tests.builders import a_group, a_guided_query, a_query

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/stream.db?lease=1"


@pytest.fixture
async def run(url: str) -> AsyncIterator[Stream]:
    async with stream.connect(url, "run", "rollout") as connected:
        yield connected


async def inject(url: str, topic: str, *values: bytes) -> None:
    """Put bytes on a topic past the typed layer."""
    async with brokers.connect(url) as broker, broker.producer() as producer:
        for value in values:
            await producer.send(topic, b"key", value)


async def take(deliveries: AsyncIterator[Delivery], count: int) -> list[Delivery]:
    with anyio.fail_after(10):
        return [await anext(deliveries) for _ in range(count)]


async def letters(run: Stream, count: int) -> list[schemas.DeadLetter]:
    async with run.reader(topics.DEAD_LETTERS, start="earliest") as found:
        return [delivery.record for delivery in await take(found, count)]


async def letters_while_reading(run: Stream, deliveries: AsyncIterator[Delivery]) -> list[schemas.DeadLetter]:
    """The first dead letter, while deliveries are read of which none may come."""

    async def read() -> None:
        async for delivery in deliveries:
            raise AssertionError(f"{delivery} was delivered")

    found: list[schemas.DeadLetter] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        found = await letters(run, 1)
        tasks.cancel_scope.cancel()
    return found


async def test_a_record_comes_out_as_it_went_in_under_its_key(run):
    group = a_group("WWRU")
    receipt = await run.publish(topics.GROUPS, group)
    async with run.reader(topics.GROUPS, start="earliest") as groups:
        (delivery,) = await take(groups, 1)
    assert delivery.record == group
    assert delivery.message.key == group.group_id.encode()
    assert receipt.topic == "run.groups"


async def test_runs_on_one_broker_do_not_see_each_other(run, url):
    await run.publish(topics.QUERIES, a_query())
    async with stream.connect(url, "another", "rollout") as another:
        assert await another.lag(topics.QUERIES) == 0
    assert await run.lag(topics.QUERIES) == 1


async def test_guided_queries_come_before_plain_ones_and_done_ones_do_not_come_again(run):
    for position in range(3):
        await run.publish(topics.QUERIES, a_query(position=position))
    await run.publish(topics.GUIDED, a_guided_query())
    async with run.consumer(topics.GUIDED, topics.QUERIES) as queries:
        deliveries = await take(queries, 4)
        origins = [delivery.record.origin.value for delivery in deliveries]
        for delivery in deliveries:
            delivery.done()
    assert origins == ["guided", "plain", "plain", "plain"]
    assert await run.lag(topics.GUIDED) == await run.lag(topics.QUERIES) == 0


async def test_what_a_consumer_is_done_with_is_no_lag_of_the_topics_own_group(run):
    await run.publish(topics.QUERIES, a_query())
    async with run.consumer(topics.QUERIES) as queries:
        (delivery,) = await take(queries, 1)
        assert await run.lag(topics.QUERIES) == await run.broker.lag("run.queries", "run.rollout") == 1
        delivery.done()
    assert await run.lag(topics.QUERIES) == await run.broker.lag("run.queries", "run.rollout") == 0


async def test_a_poison_record_becomes_a_dead_letter_and_consumption_goes_on(run, url):
    whole = schemas.encode(a_query())
    poison = [b"", b"\xc1\xff", whole[:-5], schemas.encode(a_group())]
    await inject(url, "run.queries", *poison)
    await run.publish(topics.QUERIES, a_query())
    async with run.consumer(topics.QUERIES) as queries:
        (delivery,) = await take(queries, 1)
        delivery.done()
    assert delivery.record == a_query()
    assert await run.lag(topics.QUERIES) == 0
    found = await letters(run, len(poison))
    assert [letter.value for letter in found] == poison
    assert {(letter.source, letter.topic, letter.key) for letter in found} == {
        ("rollout", "run.queries", b"key")
    }
    assert [letter.offset for letter in found] == [0, 1, 2, 3]
    assert "TruncatedRecord" in found[2].error


async def test_a_record_of_a_newer_version_becomes_a_dead_letter(run, url):
    fields = msgspec.msgpack.decode(schemas.encode(a_query()))
    newer = msgspec.msgpack.encode(fields | {"version": fields["version"] + 1, "mood": "sunny"})
    await inject(url, "run.queries", newer)
    async with run.consumer(topics.QUERIES) as queries:
        (letter,) = await letters_while_reading(run, queries)
    assert letter.value == newer
    assert letter.error.startswith("NewerRecord")


async def test_a_reader_buries_poison_as_well(run, url):
    await inject(url, "run.groups", b"poison")
    await run.publish(topics.GROUPS, a_group())
    async with run.reader(topics.GROUPS, start="earliest") as groups:
        assert (await take(groups, 1))[0].record == a_group()
    assert (await letters(run, 1))[0].value == b"poison"


async def test_a_poison_record_as_large_as_can_be_is_cut_to_fit(url):
    settings = TopicsConfig(max_record_bytes=2**16)
    async with stream.connect(url, "run", "rollout", settings) as run:
        await inject(url, "run.groups", bytes(2**16))
        async with run.reader(topics.GROUPS, start="earliest") as groups:
            (letter,) = await letters_while_reading(run, groups)
    assert not letter.whole
    assert letter.value == bytes(2**15)


async def test_a_large_poison_record_is_kept_whole_with_room_for_the_rest_of_its_letter(run, url):
    large = bytes(32 * 2**20 - stream.LETTER_BYTES)
    await inject(url, "run.groups", large)
    async with run.reader(topics.GROUPS, start="earliest") as groups:
        (letter,) = await letters_while_reading(run, groups)
    assert letter.whole
    assert letter.value == large


async def test_reading_starts_where_it_is_told(run):
    places = []
    for position in range(6):
        receipt = await run.publish(topics.POLICIES, a_release(position))
        places.append(TopicPartition(receipt.topic, receipt.partition))
    async with run.reader(topics.POLICIES, start={places[0]: 4}, follow=False) as releases:
        assert [delivery.record.policy_version async for delivery in releases] == [4, 5]
    async with run.reader(topics.POLICIES, start="latest", follow=False) as releases:
        assert [delivery async for delivery in releases] == []
    async with run.reader(topics.POLICIES, start=0.0, follow=False) as releases:
        assert len([delivery async for delivery in releases]) == 6
    async with run.reader(topics.POLICIES, start={}, follow=False) as releases:
        assert len([delivery async for delivery in releases]) == 6


async def test_a_record_above_the_limit_is_refused_before_it_is_sent(run):
    vast = a_query(question="?" * topics.LARGEST_RECORD_BYTES)
    with pytest.raises(schemas.OversizedRecord):
        await run.publish(topics.QUERIES, vast)
    assert await run.lag(topics.QUERIES) == 0


async def test_a_topic_that_nobody_created_is_named(run):
    stray = topics.Topic("stray", schemas.Query, lambda record: record.query_id)
    with pytest.raises(UnknownTopic, match=r"run\.stray"):
        await run.publish(stray, a_query())


def a_release(version: int) -> schemas.PolicyRelease:
    return schemas.PolicyRelease(
        policy_version=version,
        step=version,
        uri=f"v{version}",
        digest="d",
        consumed=schemas.Consumed(),
        published_at=0.0,
    )


async def test_a_poison_record_whose_very_error_is_huge_is_buried_all_the_same(run, url):
    await inject(url, "run.groups", msgspec.msgpack.encode({"schema": "x" * 33_520_000, "version": 1}))
    async with run.reader(topics.GROUPS, start="earliest") as groups:
        (letter,) = await letters_while_reading(run, groups)
    assert not letter.whole
    assert letter.error.startswith("ForeignRecord: record xxx")
