"""Reading by position, outside any group. Nobody waits for a reader, so it needs no task of its own."""

import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from kafka import KafkaConsumer as RawConsumer

from mentor_stream.broker.base import Bounds, Message, OffsetGap, OnGap, TopicPartition
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka.client import Client, opened
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.kafka.source import Ends, Source, plan

log = logging.getLogger(__name__)


class KafkaReader:
    """The contract's Reader: fetches the next messages when those it has are used up."""

    def __init__(
        self, client: Client[RawConsumer], source: Source, ends: Ends | None, prefetch: int, on_gap: OnGap
    ) -> None:
        self.skipped = 0
        """Messages that were gone when their turn came."""
        self._client, self._source, self._prefetch, self._on_gap = client, source, prefetch, on_gap
        self._ends = ends
        """None follows for ever."""
        self._fetched: deque[Message] = deque()
        self._gap: Gap | None = None
        self._turn = anyio.Lock()

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await anyio.lowlevel.checkpoint()
        if self._fetched:
            return self._fetched.popleft()
        async with self._turn:
            overdue = anyio.current_time() + self._client.settings.connect_timeout
            while not self._fetched:
                if self._gap is not None:
                    raise OffsetGap(self._gap.error)
                if self._ends is not None and not self._ends:
                    raise StopAsyncIteration
                if self._ends is not None and anyio.current_time() > overdue:
                    # what is to be read is there already: only a cluster that is away can withhold it
                    raise self._client.unavailable("it does not give what it has")
                await self._fetch()
            return self._fetched.popleft()

    def meet(self, gap: Gap) -> None:
        """The next message of a partition is gone."""
        if self._on_gap == "fail":
            self._gap = gap
            return
        end = gap.kept.next if self._ends is None else self._ends.get(gap.place, gap.kept.next)
        missing = gap.missing(end)
        log.warning("%s; going on there, %d messages are skipped", gap, missing)
        self.skipped += missing

    async def _fetch(self) -> None:
        ends = left = self._ends
        if ends is None:
            polled = await self._client.call(lambda _: self._source.follow(self._prefetch))
            self._fetched.extend(polled.messages)
        else:
            polled, left = await self._client.call(lambda _: self._source.read_up_to(ends, self._prefetch))
            self._fetched.extend(m for m in polled.messages if m.offset < ends.get(m.place, 0))
        for gap in polled.gaps:
            self.meet(gap)
        self._ends = left


@asynccontextmanager
async def reading(
    settings: ConnectionSettings,
    start: Mapping[TopicPartition, int],
    bounds: Mapping[TopicPartition, Bounds],
    *,
    follow: bool,
    prefetch: int,
    on_gap: OnGap,
) -> AsyncGenerator[KafkaReader]:
    """A reader for the block, of topics of which `bounds` has all partitions."""
    planned = plan(start, bounds)
    known: dict[str, int] = {}
    for place in bounds:
        known[place.topic] = known.get(place.topic, 0) + 1
    async with opened(RawConsumer, close, settings, **consumer_options(settings)) as client:
        source = await client.call(Source, planned.begins, known)
        reader = KafkaReader(client, source, None if follow else planned.ends, prefetch, on_gap)
        for gap in planned.gaps:
            reader.meet(gap)
        yield reader
