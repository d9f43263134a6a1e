"""Reading by position, outside any group. Nobody waits for a reader, so it needs no task of its own."""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio.lowlevel
from kafka import KafkaConsumer as RawConsumer
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import Bounds, Message, TopicPartition
from mentor_stream.broker.kafka.client import Client, opened
from mentor_stream.broker.kafka.messages import close, consumer_options, poll
from mentor_stream.broker.kafka.settings import ConnectionSettings


class KafkaReader:
    """The contract's Reader: fetches the next messages when those it has are used up."""

    def __init__(
        self,
        client: Client[RawConsumer],
        start: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
        prefetch: int,
    ) -> None:
        self._client, self._start, self._ends, self._prefetch = client, start, ends, prefetch
        self._fetched: deque[Message] = deque()
        self._turn = anyio.Lock()

    @property
    def skipped(self) -> int:
        """Messages that were gone when their turn came."""
        return 0

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await anyio.lowlevel.checkpoint()
        async with self._turn:
            while not self._fetched:
                if self._ends is not None and not self._ends:
                    raise StopAsyncIteration
                await self._fetch()
            return self._fetched.popleft()

    async def _fetch(self) -> None:
        messages = await self._client.call(poll, self._prefetch)
        self._fetched.extend(m for m in messages if self._wanted(m))
        if self._ends is not None:
            self._ends = await self._client.call(_ahead, self._ends)

    def _wanted(self, message: Message) -> bool:
        """Whether it lies between where reading starts and ends."""
        end = self._ends.get(message.place, 0) if self._ends is not None else message.offset + 1
        return self._start[message.place] <= message.offset < end


def _ahead(raw: RawConsumer, ends: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
    """The partitions whose end is still to come. By position: the last offsets may hold no message."""
    positions = {place: raw.position(KafkaPartition(*place), timeout_ms=0) for place in ends}
    return {place: end for place, end in ends.items() if (positions[place] or 0) < end}


@asynccontextmanager
async def reading(
    settings: ConnectionSettings,
    start: Mapping[TopicPartition, int],
    bounds: Mapping[TopicPartition, Bounds],
    *,
    follow: bool,
    prefetch: int,
) -> AsyncIterator[KafkaReader]:
    """A reader for the block. An offset that retention has taken means the first one kept."""
    first = {place: max(offset, bounds[place].first) for place, offset in start.items()}
    ends = {place: bounds[place].next for place in start if first[place] < bounds[place].next}
    # a seek beyond the end would be reset to the beginning
    seeks = {place: min(offset, bounds[place].next) for place, offset in first.items()}
    async with opened(RawConsumer, close, settings, **consumer_options(settings)) as client:
        await client.call(_seek, seeks)
        yield KafkaReader(client, start, None if follow else ends, prefetch)


def _seek(raw: RawConsumer, offsets: Mapping[TopicPartition, int]) -> None:
    raw.assign([KafkaPartition(*place) for place in offsets])
    for place, offset in offsets.items():
        raw.seek(KafkaPartition(*place), offset)
