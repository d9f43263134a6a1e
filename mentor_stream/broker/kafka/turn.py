"""One round with a group member's client, in the client's thread: commit, poll, note what changed."""

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka import ConsumerRebalanceListener, errors
from kafka import KafkaConsumer as RawConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import Message, TopicPartition
from mentor_stream.broker.kafka.client import RETRIABLE
from mentor_stream.broker.kafka.messages import poll

log = logging.getLogger(__name__)

COMMIT_TIMEOUT_SECONDS = 1.0
_NOT_NOW = (errors.CommitFailedError, errors.RebalanceInProgressError, RETRIABLE)
"""A commit refused for these is no loss: another member has the partition, or we commit later."""

Change = tuple[Literal["given", "taken"], frozenset[TopicPartition]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the owner asks for."""

    room: int
    """How many messages may come."""
    wait: float
    commit: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a turn, in the order in which it happened."""

    committed: Mapping[TopicPartition, int]
    changes: Sequence[Change]
    messages: Sequence[Message]
    behind: bool
    """Whether our partitions hold more than was polled, or were not looked at yet."""


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


def join(raw: RawConsumer, topic: str) -> Rebalances:
    """Subscribe; the polls that follow make us a member."""
    # a member that leads before it knows the partitions hands out none of them, and may never look again
    raw.partitions_for_topic(topic)
    listener = Rebalances(raw)
    raw.subscribe(topics=[topic], listener=listener)
    return listener


def take(raw: RawConsumer, listener: Rebalances, turn: Turn) -> Outcome:
    """Do what the turn asks for."""
    committed = commit(raw, turn.commit, COMMIT_TIMEOUT_SECONDS)
    # what is paused is set anew each time: a rebalance forgets it
    if turn.room:
        raw.resume(*raw.paused())
    else:
        raw.pause(*raw.assignment())
    messages = poll(raw, max(1, turn.room), turn.wait)
    behind = any(_is_behind(raw, place) for place in raw.assignment())
    return Outcome(committed, listener.drain(), messages, behind)


def commit(
    raw: RawConsumer, offsets: Mapping[TopicPartition, int], seconds: float
) -> Mapping[TopicPartition, int]:
    """Commit and return what the group has of it now: all or nothing."""
    if not offsets:
        return {}
    wanted = {KafkaPartition(*place): OffsetAndMetadata(offset, "", -1) for place, offset in offsets.items()}
    try:
        raw.commit(wanted, timeout_ms=round(seconds * 1000))
    except _NOT_NOW as error:
        log.info("offsets not committed for now: %s", error)
        return {}
    return offsets


def _is_behind(raw: RawConsumer, place: KafkaPartition) -> bool:
    end = raw.highwater(place)
    return end is None or (raw.position(place, timeout_ms=0) or 0) < end
