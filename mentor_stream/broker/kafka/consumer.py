"""Membership in a consumer group: a lane for each topic, the preferred one first.

One client for all topics would not do: messages of one that it has fetched hide those of the others, and a
topic that is paused keeps a fetch for the others waiting, or is kept waiting by it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.lowlevel

from mentor_stream.broker.base import Message, OnGap
from mentor_stream.broker.kafka.lane import Lane, member
from mentor_stream.broker.kafka.settings import ConnectionSettings


class KafkaConsumer:
    """The contract's Consumer."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self._news = anyio.Event()

    @property
    def skipped(self) -> int:
        """Messages that were gone when their turn came."""
        return sum(lane.skipped for lane in self.lanes.values())

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await anyio.lowlevel.checkpoint()
        while (message := self._next()) is None:
            self._news = anyio.Event()
            await self._news.wait()
        return message

    def done(self, message: Message) -> None:
        """Mark a message as dealt with; see base.py."""
        self.lanes[message.topic].done(message)

    def news(self) -> None:
        """Something changed in a lane."""
        self._news.set()

    def _next(self) -> Message | None:
        for lane in self.lanes.values():
            if (message := lane.next()) is not None:
                return message
            if lane.more_to_come:
                return None
        return None


@asynccontextmanager
async def consuming(
    settings: ConnectionSettings, topics: Sequence[str], group: str, *, prefetch: int, on_gap: OnGap
) -> AsyncGenerator[KafkaConsumer]:
    """A member of the group for the block, in every topic."""
    consumer = KafkaConsumer()
    async with AsyncExitStack() as stack:
        for topic in topics:
            lane = member(settings, topic, group, prefetch, on_gap, consumer.news)
            consumer.lanes[topic] = await stack.enter_async_context(lane)
        yield consumer
