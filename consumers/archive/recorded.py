"""What a topic holds, from one moment to another and no further than its ends at the start.

Read by position: no group is joined, and the run may go on meanwhile.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from consumers.archive.manifest import HeldTopic
from mentor_stream.broker import Bounds, Broker, Message, TopicPartition

BATCH_BYTES = 8 * 2**20
BATCH_MESSAGES = 4_096
PREFETCH = 1_024


@dataclass(frozen=True)
class Span:
    """What is wanted of a topic."""

    wanted: Mapping[TopicPartition, Bounds]
    """Of each partition the first offset, and the one after the last; from 0 where everything is wanted."""
    start: Mapping[TopicPartition, int]
    """Where reading begins: with what is kept."""

    @property
    def count(self) -> int:
        """Messages to come, at most."""
        return sum(self.wanted[place].next - first for place, first in self.start.items())

    @property
    def bounds(self) -> dict[int, Bounds]:
        """What is wanted, by the number of the partition."""
        return {place.partition: bounds for place, bounds in self.wanted.items()}


async def span(broker: Broker, name: str, since: float | None, until: float | None) -> Span:
    """What was appended to the topic from one moment up to another, and up to now. Raises UnknownTopic."""
    kept = await broker.bounds(name)
    begins = await broker.offsets_at(name, since) if since is not None else {}
    ends = await broker.offsets_at(name, until) if until is not None else {}
    wanted: dict[TopicPartition, Bounds] = {}
    for place, bounds in kept.items():
        end = min(bounds.next, ends.get(place, bounds.next))
        wanted[place] = Bounds(min(begins.get(place, 0), end), end)
    start = {place: min(max(kept[place].first, first), end) for place, (first, end) in wanted.items()}
    return Span(wanted, start)


def whole(name: str, topic: HeldTopic) -> Span:
    """What an archive holds of the topic, where that is called `name`."""
    wanted = {
        TopicPartition(name, held.partition): Bounds(held.first, held.next) for held in topic.partitions
    }
    return Span(wanted, {place: bounds.first for place, bounds in wanted.items()})


async def batches(broker: Broker, span: Span) -> AsyncGenerator[list[Message]]:
    """The messages, each partition's in its order, some MB at a time, without what is gone meanwhile."""
    batch: list[Message] = []
    size = 0
    async with aclosing(_messages(broker, span)) as messages:
        async for message in messages:
            batch.append(message)
            size += message.size
            if size >= BATCH_BYTES or len(batch) >= BATCH_MESSAGES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


async def _messages(broker: Broker, span: Span) -> AsyncGenerator[Message]:
    left = {place: first for place, first in span.start.items() if first < span.wanted[place].next}
    if not left:
        return
    async with broker.reader(left, follow=False, prefetch=PREFETCH, on_gap="earliest") as reader:
        async for message in reader:
            end = span.wanted[message.place].next
            if message.offset < end:
                yield message
            if message.offset + 1 >= end and left.pop(message.place, None) is not None and not left:
                return
