"""Membership in a consumer group: preferred topics first, done in any order, committed in order."""

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from kafka import KafkaConsumer as RawConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from mentor_stream.broker.base import Message, TopicPartition
from mentor_stream.broker.kafka import turn
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, POLL_SECONDS, Client, beside, opened
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.prefix import Prefix

COMMIT_SECONDS = 0.2
"""At most so much finished work comes again when a member dies."""
PREFERENCE_SECONDS = 1.0
"""So long a preferred topic that has more to come may hold up the others."""


class KafkaConsumer:
    """The contract's Consumer. All state is the event loop's; turns are taken in the client's thread."""

    def __init__(self, client: Client[RawConsumer], topics: Sequence[str], prefetch: int) -> None:
        self._client, self._prefetch = client, prefetch
        self._waiting: dict[str, deque[Message]] = {topic: deque() for topic in topics}
        self._prefixes: dict[TopicPartition, Prefix] = {}
        self._behind: frozenset[str] = frozenset()
        self._held_back: frozenset[str] = frozenset()
        self._arrived = anyio.Event()
        self._freed = anyio.Event()
        self._last_commit = anyio.current_time()

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await anyio.lowlevel.checkpoint()
        in_order = True
        while (message := self._next(in_order)) is None:
            self._arrived = anyio.Event()
            with anyio.move_on_after(PREFERENCE_SECONDS) as patience:
                await self._arrived.wait()
            in_order = not patience.cancelled_caught
        return message

    def done(self, message: Message) -> None:
        """Mark a message as dealt with; see base.py."""
        prefix = self._prefixes.get(message.place)
        if prefix is not None and prefix.done(message.offset):
            self._freed.set()

    async def run(self) -> None:
        """The owner task: polls whether or not there is room, so that the membership stays alive."""
        listener = await self._client.call(turn.join, list(self._waiting))
        while True:
            if not self._hungry():
                await self._room_or_time()
            self._apply(await self._client.call(turn.take, listener, self._plan()))

    async def finish(self) -> None:
        """Commit what is done: the last word before leaving."""
        await self._client.call(turn.commit, self._committable(), CLOSE_SECONDS)

    def _next(self, in_order: bool) -> Message | None:
        for topic, messages in self._waiting.items():
            if messages:
                return messages.popleft()
            if in_order and topic in self._behind and self._room(topic):
                return None
        return None

    def _room(self, topic: str) -> int:
        outstanding = (len(prefix) for place, prefix in self._prefixes.items() if place.topic == topic)
        return max(0, self._prefetch - sum(outstanding))

    def _hungry(self) -> bool:
        """Whether a poll may wait for messages: all topics have room, or one that has more to come."""
        open_topics = {topic for topic in self._waiting if self._room(topic)}
        return len(open_topics) == len(self._waiting) or bool(open_topics & self._behind)

    async def _room_or_time(self) -> None:
        self._freed = anyio.Event()
        with anyio.move_on_after(POLL_SECONDS):
            await self._freed.wait()

    def _plan(self) -> turn.Turn:
        return turn.Turn(
            room={topic: room for topic in self._waiting if (room := self._room(topic))},
            held_back=self._held_back,
            watched=list(self._waiting)[:-1],
            wait=POLL_SECONDS if self._hungry() else 0,
            commit=self._due(),
        )

    def _due(self) -> Mapping[TopicPartition, int]:
        if anyio.current_time() - self._last_commit < COMMIT_SECONDS:
            return {}
        self._last_commit = anyio.current_time()
        return self._committable()

    def _committable(self) -> Mapping[TopicPartition, int]:
        offsets = {place: prefix.committable() for place, prefix in self._prefixes.items()}
        return {place: offset for place, offset in offsets.items() if offset is not None}

    def _apply(self, outcome: turn.Outcome) -> None:
        for place, offset in outcome.committed.items():
            self._prefixes[place].committed(offset)
        for what, places in outcome.changes:
            for place in places:
                self._forget(place)
                if what == "given":
                    self._prefixes[place] = Prefix()
        for message in outcome.messages:
            self._prefixes[message.place].delivered(message.offset)
            self._waiting[message.topic].append(message)
        self._held_back = self._below({message.topic for message in outcome.messages})
        self._behind = outcome.behind
        self._arrived.set()

    def _below(self, topics: set[str]) -> frozenset[str]:
        """The first of these in order of preference and all that come after it, if any comes before."""
        order = list(self._waiting)
        first = min(map(order.index, topics), default=0)
        return frozenset(order[first:]) if first else frozenset()

    def _forget(self, place: TopicPartition) -> None:
        """Nothing of a partition that left may be handed out or committed any more."""
        if self._prefixes.pop(place, None) is not None:
            kept = [message for message in self._waiting[place.topic] if message.place != place]
            self._waiting[place.topic] = deque(kept)


@asynccontextmanager
async def consuming(
    settings: ConnectionSettings, topics: Sequence[str], group: str, prefetch: int
) -> AsyncIterator[KafkaConsumer]:
    """A member of the group for the block; leaving commits what is done and gives the partitions back."""
    options = consumer_options(settings) | {
        "group_id": group,
        # a rebalance takes only the partitions that move: the others' work goes on
        "partition_assignment_strategy": (CooperativeStickyAssignor,),
    }
    async with opened(RawConsumer, close, settings, **options) as client:
        consumer = KafkaConsumer(client, topics, prefetch)
        try:
            async with beside(consumer.run):
                yield consumer
        finally:
            with anyio.CancelScope(shield=True):
                await consumer.finish()
