"""A run's records from a point in time on, in the order in which they are read."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import schemas
from mentor_stream.broker import Broker, TopicPartition
from mentor_stream.topics import LARGEST_RECORD_BYTES, Topic


@dataclass(frozen=True, slots=True)
class Event:
    """One record as it stands on its topic."""

    topic: Topic[Any]
    place: TopicPartition
    offset: int
    time: float
    """When it was appended, seconds since the epoch."""
    record: schemas.Record | None
    """None: it cannot be read, and `trouble` says why."""
    trouble: str = ""


async def since(
    broker: Broker, run: str, topics: Sequence[Topic[Any]], moment: float
) -> dict[TopicPartition, int]:
    """Where reading begins for what was appended at or after a moment. Raises UnknownTopic."""
    found: dict[TopicPartition, int] = {}
    for topic in topics:
        found.update(await broker.offsets_at(topic.of(run), moment))
    return found


async def last(
    broker: Broker, run: str, topics: Sequence[Topic[Any]], count: int
) -> dict[TopicPartition, int]:
    """Where reading begins for the last `count` records of every partition. Raises UnknownTopic."""
    found: dict[TopicPartition, int] = {}
    for topic in topics:
        bounds = await broker.bounds(topic.of(run))
        found.update({place: max(b.first, b.next - count) for place, b in bounds.items()})
    return found


async def appended(broker: Broker, place: TopicPartition, offset: int) -> float | None:
    """When the first record from an offset on was appended; None where there is none any more."""
    async with broker.reader({place: offset}, follow=False, prefetch=1, on_gap="earliest") as messages:
        async for message in messages:
            return message.timestamp
    return None


async def events(
    broker: Broker,
    run: str,
    topics: Sequence[Topic[Any]],
    start: Mapping[TopicPartition, int],
    *,
    follow: bool,
) -> AsyncGenerator[Event]:
    """Whatever there is from `start` on; what retention takes meanwhile is passed over."""
    known = {topic.of(run): topic for topic in topics}
    async with broker.reader(start, follow=follow, on_gap="earliest") as messages:
        async for message in messages:
            topic = known[message.topic]
            at = topic, message.place, message.offset, message.timestamp
            try:
                record = schemas.decode(message.value, topic.record, max_bytes=LARGEST_RECORD_BYTES)
            except schemas.RecordError as error:
                yield Event(*at, None, f"{type(error).__name__}: {error}")
            else:
                yield Event(*at, record)
