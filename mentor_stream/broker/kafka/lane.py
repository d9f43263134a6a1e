"""A member's part in one topic: what was fetched, what is out, and how far it is done."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from kafka import KafkaConsumer as RawConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import Message, TopicPartition
from mentor_stream.broker.kafka import turn
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, POLL_SECONDS, Client, opened
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.prefix import Prefix

COMMIT_SECONDS = 0.2
"""At most so much finished work comes again when a member dies."""
PREFERENCE_SECONDS = 1.0
"""So long a topic that has more to come, but does not deliver, may hold up those after it."""


def group_id(group: str, topic: str) -> str:
    """The Kafka group behind a group's part in one topic: topics are rebalanced without each other."""
    return f"{group}:{topic}"


class Lane:
    """All state is the event loop's; turns are taken in the client's thread."""

    def __init__(
        self, client: Client[RawConsumer], topic: str, prefetch: int, news: Callable[[], None]
    ) -> None:
        self.topic = topic
        self._client, self._prefetch, self._news = client, prefetch, news
        self._waiting: deque[Message] = deque()
        self._prefixes: dict[TopicPartition, Prefix] = {}
        self._freed = anyio.Event()
        self._behind = True
        self._last_news = self._last_commit = anyio.current_time()

    def next(self) -> Message | None:
        """The next message that is here."""
        return self._waiting.popleft() if self._waiting else None

    def done(self, message: Message) -> None:
        """Count the message as dealt with; nothing if its partition has left."""
        prefix = self._prefixes.get(message.place)
        if prefix is not None and prefix.done(message.offset):
            self._freed.set()

    @property
    def room(self) -> int:
        """Messages that may still be fetched."""
        return max(0, self._prefetch - sum(map(len, self._prefixes.values())))

    @property
    def more_to_come(self) -> bool:
        """Whether messages are about to arrive, as far as we know."""
        recently = anyio.current_time() - self._last_news < PREFERENCE_SECONDS
        return self._behind and recently and self.room > 0

    async def run(self) -> None:
        """The owner task: polls whether or not there is room, so that the membership stays alive."""
        listener = await self._client.call(turn.join, self.topic)
        while True:
            if not self.room:
                await self._room_or_time()
            wait = POLL_SECONDS if self.room else 0
            self._apply(await self._client.call(turn.take, listener, turn.Turn(self.room, wait, self._due())))

    async def finish(self) -> None:
        """Commit what is done: the last word before leaving."""
        await self._client.call(turn.commit, self._committable(), CLOSE_SECONDS)

    async def _room_or_time(self) -> None:
        self._freed = anyio.Event()
        with anyio.move_on_after(POLL_SECONDS):
            await self._freed.wait()

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
        self._waiting.extend(outcome.messages)
        self._behind = outcome.behind
        if outcome.messages or outcome.changes:
            self._last_news = anyio.current_time()
        self._news()

    def _forget(self, place: TopicPartition) -> None:
        """Nothing of a partition that left may be handed out or committed any more."""
        if self._prefixes.pop(place, None) is not None:
            self._waiting = deque(message for message in self._waiting if message.place != place)


@asynccontextmanager
async def member(
    settings: ConnectionSettings, topic: str, group: str, prefetch: int, news: Callable[[], None]
) -> AsyncIterator[Lane]:
    """Membership for the block; leaving commits what is done and gives the partitions back."""
    options = consumer_options(settings) | {
        "group_id": group_id(group, topic),
        # a rebalance takes only the partitions that move: the others' work goes on
        "partition_assignment_strategy": (CooperativeStickyAssignor,),
    }
    async with opened(RawConsumer, close, settings, **options) as client:
        lane = Lane(client, topic, prefetch, news)
        try:
            async with beside(lane.run):
                yield lane
        finally:
            with anyio.CancelScope(shield=True):
                await lane.finish()
