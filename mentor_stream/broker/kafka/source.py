"""The partitions that a reader reads, as its client has them. Runs in the client's thread."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka import KafkaConsumer as RawConsumer
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import EARLIEST, Bounds, TopicPartition
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka.client import POLL_SECONDS
from mentor_stream.broker.kafka.intake import Intake, Polled
from mentor_stream.broker.kafka.knowledge import learn, partitions, positions

Ends = Mapping[TopicPartition, int]
"""Where partitions end, of those that have anything left before that."""


class Plan(NamedTuple):
    """What there is to read."""

    begins: Mapping[TopicPartition, int]
    """Or EARLIEST: whatever is the first message when it is asked for."""
    ends: Ends
    gaps: list[Gap]


def plan(start: Mapping[TopicPartition, int], bounds: Mapping[TopicPartition, Bounds]) -> Plan:
    """A position that its partition does not have is a gap, and the partition begins with what is kept."""
    gaps = [
        Gap(place, offset, bounds[place])
        for place, offset in start.items()
        if offset != EARLIEST and not bounds[place].first <= offset <= bounds[place].next
    ]
    begins = dict(start) | {gap.place: gap.kept.first for gap in gaps}
    ends = {
        place: bounds[place].next
        for place, offset in begins.items()
        if max(offset, bounds[place].first) < bounds[place].next
    }
    return Plan(begins, ends, gaps)


class Source:
    """Polls partitions that are assigned by hand."""

    def __init__(
        self, raw: RawConsumer, begins: Mapping[TopicPartition, int], known: Mapping[str, int]
    ) -> None:
        self._raw, self._known = raw, dict(known)
        self._intake = Intake(raw, known)
        raw.assign([KafkaPartition(*place) for place in begins])
        for topic in known:
            learn(raw, topic)
        for place, offset in begins.items():
            if offset != EARLIEST:
                raw.seek(KafkaPartition(*place), offset)

    def follow(self, most: int) -> Polled:
        """What comes next, also of partitions that were added to the topics."""
        for topic, count in self._known.items():
            added = [KafkaPartition(topic, n) for n in partitions(self._raw, topic) if n >= count]
            if added:
                self._raw.assign([*self._raw.assignment(), *added])
                self._known[topic] = count + len(added)
        return self._intake.poll(most, POLL_SECONDS)

    def read_up_to(self, ends: Ends, most: int) -> tuple[Polled, Ends]:
        """What comes next, and what is left then. By position: the last offsets may hold no message."""
        polled = self._intake.poll(most, POLL_SECONDS)
        at = positions(self._raw)
        return polled, {place: end for place, end in ends.items() if (at[KafkaPartition(*place)] or 0) < end}
