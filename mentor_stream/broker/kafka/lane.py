"""A member's part in one topic: what was fetched, what is out, and how far it is done."""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from kafka import KafkaConsumer as RawConsumer
from kafka.coordinator.assignors.cooperative_sticky import (  # pyright: ignore[reportMissingTypeStubs]
    CooperativeStickyAssignor,
)

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BUFFER_BYTES, Message, OffsetGap, OnGap, TopicPartition
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka import turn
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, POLL_SECONDS, Client, opened
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.prefix import Prefix

log = logging.getLogger(__name__)

COMMIT_SECONDS = 0.2
"""At most so much finished work comes again when a member dies."""
PREFERENCE_SECONDS = 1.0
"""So long a topic that has more to come, but does not deliver, may hold up those after it."""
FINISH_SECONDS = 0.05
WAITING_BYTES = BUFFER_BYTES // 2
"""With so much waiting nothing more is polled; the other half is for what comes at once, and the client's."""


def group_id(group: str, topic: str) -> str:
    """The Kafka group behind a group's part in one topic: topics are rebalanced without each other."""
    return f"{group}:{topic}"


class Lane:
    """All state is the event loop's; turns are taken in the client's thread."""

    def __init__(
        self,
        client: Client[RawConsumer],
        member: turn.Member,
        prefetch: int,
        on_gap: OnGap,
        news: Callable[[], None],
    ) -> None:
        self.skipped = 0
        """Messages that were gone when their turn came."""
        self._client, self._member, self._news = client, member, news
        self._prefetch, self._on_gap = prefetch, on_gap
        self._waiting: deque[Message] = deque()
        self._waiting_bytes = 0
        self._prefixes: dict[TopicPartition, Prefix] = {}
        self._out = 0
        """Messages fetched and not done: those of all prefixes."""
        self._gap: Gap | None = None
        self._wanted = anyio.Event()
        self._behind = True
        self._last_news = self._last_commit = anyio.current_time()

    def next(self) -> Message | None:
        """The next message that is here. Raises OffsetGap, each time, when it is gone."""
        if self._waiting:
            message = self._waiting.popleft()
            self._waiting_bytes -= message.size
            self._want()
            return message
        if self._gap is not None:
            raise OffsetGap(self._gap.error)
        return None

    def done(self, message: Message) -> None:
        """Count the message as dealt with; nothing if its partition has left."""
        prefix = self._prefixes.get(message.place)
        if prefix is not None and prefix.done(message.offset):
            self._out -= 1
            self._want()

    @property
    def room(self) -> int:
        """Messages to fetch now. Not while half of what may wait does: a few at a time are dear."""
        if self._gap or 2 * len(self._waiting) > self._prefetch or self._waiting_bytes >= WAITING_BYTES:
            return 0
        return max(0, self._prefetch - self._out)

    @property
    def more_to_come(self) -> bool:
        """Whether messages are about to arrive, as far as we know."""
        recently = anyio.current_time() - self._last_news < PREFERENCE_SECONDS
        return self._behind and recently and self.room > 0

    async def run(self) -> None:
        """The owner task: polls whether or not there is room, so that the membership stays alive."""
        while True:
            if not self.room:
                await self._room_or_time()
            room = self.room
            await self._take(turn.Turn(room, POLL_SECONDS if room else 0, self._due()))

    async def finish(self) -> None:
        """Commit what is done: the last word before leaving. A rebalance refuses it until it is over."""
        overdue = anyio.current_time() + CLOSE_SECONDS
        while self._committable() and anyio.current_time() < overdue:
            await self._take(turn.Turn(0, FINISH_SECONDS, self._committable()))

    async def _take(self, wanted: turn.Turn) -> None:
        self._apply(await self._client.call(turn.take, self._member, wanted))

    def _want(self) -> None:
        if self.room:
            self._wanted.set()

    async def _room_or_time(self) -> None:
        self._wanted = anyio.Event()
        with anyio.move_on_after(POLL_SECONDS):
            await self._wanted.wait()

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
        for place, offset in outcome.polled.begun.items():
            self._begin(place, offset)
        for gap in outcome.polled.gaps:
            self._meet(gap)
        for message in outcome.polled.messages:
            self._prefixes[message.place].delivered(message.offset)
            self._waiting_bytes += message.size
        self._waiting.extend(outcome.polled.messages)
        self._out += len(outcome.polled.messages)
        self._behind = outcome.behind
        if outcome.polled.messages or outcome.changes:
            self._last_news = anyio.current_time()
        self._news()

    def _meet(self, gap: Gap) -> None:
        if self._on_gap == "fail":
            self._gap = gap
            return
        missing = gap.missing(gap.kept.next)
        log.warning("%s; going on there, %d messages are skipped", gap, missing)
        self.skipped += missing
        if gap.foreign:  # so is what was delivered
            self._forget(gap.place)
            self._prefixes[gap.place] = Prefix()
        self._begin(gap.place, gap.kept.first)

    def _begin(self, place: TopicPartition, offset: int) -> None:
        """Commits may say that nothing before it will come: a loss there is one from then on, or told."""
        self._prefixes[place].delivered(offset - 1)
        self._prefixes[place].done(offset - 1)

    def _forget(self, place: TopicPartition) -> None:
        """Nothing of a partition that left may be handed out or committed any more."""
        prefix = self._prefixes.pop(place, None)
        if prefix is None:
            return
        self._out -= len(prefix)
        self._waiting = deque(message for message in self._waiting if message.place != place)
        self._waiting_bytes = sum(message.size for message in self._waiting)
        if self._gap is not None and self._gap.place == place:
            self._gap = None


@asynccontextmanager
async def member(
    settings: ConnectionSettings,
    topic: str,
    group: str,
    prefetch: int,
    on_gap: OnGap,
    news: Callable[[], None],
) -> AsyncGenerator[Lane]:
    """Membership for the block; leaving commits what is done and gives the partitions back."""
    options = consumer_options(settings) | {
        "group_id": group_id(group, topic),
        # a rebalance takes only the partitions that move: the others' work goes on
        "partition_assignment_strategy": (CooperativeStickyAssignor,),
    }
    async with opened(RawConsumer, close, settings, **options) as client:
        lane = Lane(client, await client.call(turn.join, topic), prefetch, on_gap, news)
        try:
            async with beside(lane.run):
                yield lane
        finally:
            with anyio.CancelScope(shield=True):
                await lane.finish()
