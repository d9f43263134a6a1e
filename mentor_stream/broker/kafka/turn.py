"""One round with a group member's client, in the client's thread: commit, poll, note what changed."""

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kafka import ConsumerRebalanceListener, errors
from kafka import KafkaConsumer as RawConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import TopicPartition
from mentor_stream.broker.kafka.intake import Intake, Polled
from mentor_stream.broker.kafka.knowledge import is_behind, learn
from mentor_stream.broker.kafka.meaning import RETRIABLE

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
    polled: Polled
    behind: bool
    """Whether our partitions hold more than was polled, or were not looked at yet."""


class Member(ConsumerRebalanceListener):
    """Our part in the group. Notes which partitions come and go.

    It is told so in the client's network thread, so it only takes notes.
    """

    def __init__(self, raw: RawConsumer, topic: str) -> None:
        self.intake = Intake(raw, [topic])
        self._changes: deque[Change] = deque()

    def on_partitions_assigned(self, assigned: set[KafkaPartition]) -> None:
        """Ours from now on."""
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


def join(raw: RawConsumer, topic: str) -> Member:
    """Subscribe; the polls that follow make us a member."""
    # a member that leads before it knows the partitions hands out none of them
    learn(raw, topic)
    member = Member(raw, topic)
    raw.subscribe(topics=[topic], listener=member)
    return member


def take(raw: RawConsumer, member: Member, turn: Turn) -> Outcome:
    """Do what the turn asks for."""
    committed = commit(raw, turn.commit, COMMIT_TIMEOUT_SECONDS)
    # what is paused is set anew each time: a rebalance forgets it
    if turn.room:
        raw.resume(*raw.paused())
    else:
        raw.pause(*raw.assignment())
    _keep_joining(raw)
    polled = member.intake.poll(max(1, turn.room), turn.wait)
    return Outcome(committed, member.drain(), polled, is_behind(raw))


def _keep_joining(raw: Any) -> None:
    """A poll that ends before the joining does leaves that to the next one, which may not know of it.

    Of a leader that joins since there are more partitions kafka-python would forget it: it would be
    no member any more, and never again.
    """
    coordinator = raw._coordinator
    if coordinator.rejoining:
        coordinator.request_rejoin()


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
