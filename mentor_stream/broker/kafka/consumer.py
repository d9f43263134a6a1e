"""Membership in a consumer group: preferred topics first, done in any order, committed in order."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import anyio
import anyio.lowlevel
from kafka import ConsumerRebalanceListener, errors
from kafka import KafkaConsumer as RawConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import Message, TopicPartition
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, POLL_SECONDS, RETRIABLE, Client, beside, opened
from mentor_stream.broker.kafka.messages import close, consumer_options, poll
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.prefix import Prefix

log = logging.getLogger(__name__)

COMMIT_SECONDS = 0.2
"""At most so much finished work comes again when a member dies."""
COMMIT_TIMEOUT_SECONDS = 1.0

_NOT_NOW = (errors.CommitFailedError, errors.RebalanceInProgressError, RETRIABLE)
"""A commit refused for these is no loss: another member has the partition, or we commit later."""

Change = tuple[Literal["given", "taken"], frozenset[TopicPartition]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the owner asks of the client in one go."""

    full: frozenset[str]
    """Topics with no room for more."""
    room: int
    wait: float
    commit: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a turn, in the order in which it happened."""

    committed: Mapping[TopicPartition, int]
    changes: Sequence[Change]
    messages: Sequence[Message]


class Rebalances(ConsumerRebalanceListener):
    """Notes which partitions come and go. Runs in the client's network thread, so it only takes notes."""

    def __init__(self, raw: RawConsumer) -> None:
        self._raw = raw
        self._changes: deque[Change] = deque()

    def on_partitions_assigned(self, assigned: set[KafkaPartition]) -> None:
        """New partitions start paused: the owner has not counted the room for them yet."""
        self._raw.pause(*assigned)
        self._note("given", assigned)

    def on_partitions_revoked(self, revoked: set[KafkaPartition]) -> None:
        """Handed over in good order."""
        self._note("taken", revoked)

    def on_partitions_lost(self, lost: set[KafkaPartition]) -> None:
        """We were taken for dead."""
        self._note("taken", lost)

    def drain(self) -> list[Change]:
        """The changes since the last call."""
        return [self._changes.popleft() for _ in range(len(self._changes))]

    def _note(self, what: Literal["given", "taken"], places: set[KafkaPartition]) -> None:
        self._changes.append((what, frozenset(TopicPartition(*place) for place in places)))


class KafkaConsumer:
    """The contract's Consumer. All state is the event loop's; only `_turn` runs in the client's thread."""

    def __init__(self, client: Client[RawConsumer], topics: Sequence[str], prefetch: int) -> None:
        self._client, self._prefetch = client, prefetch
        self._waiting: dict[str, deque[Message]] = {topic: deque() for topic in topics}
        self._prefixes: dict[TopicPartition, Prefix] = {}
        self._arrived = anyio.Event()
        self._freed = anyio.Event()
        self._last_commit = anyio.current_time()

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await anyio.lowlevel.checkpoint()
        while (message := self._take()) is None:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return message

    def done(self, message: Message) -> None:
        """Mark a message as dealt with; see base.py."""
        prefix = self._prefixes.get(message.place)
        if prefix is not None and prefix.done(message.offset):
            self._freed.set()

    async def run(self, listener: Rebalances) -> None:
        """The owner task: polls whether or not there is room, so that the membership stays alive."""
        while True:
            if self._full():
                await self._room_or_time()
            outcome = await self._client.call(self._turn, listener, self._plan())
            self._apply(outcome)

    async def finish(self) -> None:
        """Commit what is done: the last word before leaving."""
        commit = self._committable()
        if commit:
            await self._client.call(_commit, commit, CLOSE_SECONDS)

    def _take(self) -> Message | None:
        for messages in self._waiting.values():
            if messages:
                return messages.popleft()
        return None

    def _full(self) -> frozenset[str]:
        return frozenset(topic for topic in self._waiting if self._outstanding(topic) >= self._prefetch)

    def _outstanding(self, topic: str) -> int:
        return sum(len(prefix) for place, prefix in self._prefixes.items() if place.topic == topic)

    async def _room_or_time(self) -> None:
        self._freed = anyio.Event()
        with anyio.move_on_after(POLL_SECONDS):
            await self._freed.wait()

    def _plan(self) -> Turn:
        full = self._full()
        room = min((self._prefetch - self._outstanding(t) for t in self._waiting.keys() - full), default=1)
        return Turn(full, room, 0 if full else POLL_SECONDS, self._due())

    def _due(self) -> Mapping[TopicPartition, int]:
        if anyio.current_time() - self._last_commit < COMMIT_SECONDS:
            return {}
        self._last_commit = anyio.current_time()
        return self._committable()

    def _committable(self) -> Mapping[TopicPartition, int]:
        offsets = {place: prefix.committable() for place, prefix in self._prefixes.items()}
        return {place: offset for place, offset in offsets.items() if offset is not None}

    @staticmethod
    def _turn(raw: RawConsumer, listener: Rebalances, turn: Turn) -> Outcome:
        committed = _commit(raw, turn.commit, COMMIT_TIMEOUT_SECONDS)
        # set anew each time: a rebalance forgets what was paused
        full = {place for place in raw.assignment() if place.topic in turn.full}
        raw.pause(*full)
        raw.resume(*(raw.paused() - full))
        messages = poll(raw, turn.room, turn.wait)
        return Outcome(committed, listener.drain(), messages)

    def _apply(self, outcome: Outcome) -> None:
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
        if outcome.messages:
            self._arrived.set()

    def _forget(self, place: TopicPartition) -> None:
        """Nothing of a partition that left may be handed out or committed any more."""
        if self._prefixes.pop(place, None):
            kept = [message for message in self._waiting[place.topic] if message.place != place]
            self._waiting[place.topic] = deque(kept)


def _commit(
    raw: RawConsumer, offsets: Mapping[TopicPartition, int], seconds: float
) -> Mapping[TopicPartition, int]:
    """What the group has committed of these."""
    if not offsets:
        return {}
    wanted = {KafkaPartition(*place): OffsetAndMetadata(offset, "", -1) for place, offset in offsets.items()}
    try:
        raw.commit(wanted, timeout_ms=round(seconds * 1000))
    except _NOT_NOW as error:
        log.info("offsets not committed for now: %s", error)
        return {}
    return offsets


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
        listener = await client.call(_join, topics)
        consumer = KafkaConsumer(client, topics, prefetch)
        try:
            async with beside(lambda: consumer.run(listener)):
                yield consumer
        finally:
            with anyio.CancelScope(shield=True):
                await consumer.finish()


def _join(raw: RawConsumer, topics: Sequence[str]) -> Rebalances:
    for topic in topics:
        # a member that leads before it knows the partitions hands out none of them, and may never look again
        raw.partitions_for_topic(topic)
    listener = Rebalances(raw)
    raw.subscribe(topics=list(topics), listener=listener)
    return listener
