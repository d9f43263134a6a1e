"""What a kafka-python consumer knows of topics and partitions, without asking the cluster.

Its own methods ask, and go through all partitions for each of them.
"""

import time
from typing import Any
from uuid import UUID

from kafka import KafkaConsumer as RawConsumer
from kafka.structs import TopicPartition as KafkaPartition

LEARN_SECONDS = 2.0
_LOOK_SECONDS = 0.005


def learn(raw: RawConsumer, topic: str) -> None:
    """Wait until the client knows the topic's partitions; not for long, since the cluster may be away."""
    _cluster(raw).add_topic(topic)
    overdue = time.monotonic() + LEARN_SECONDS
    while not partitions(raw, topic) and time.monotonic() < overdue:
        time.sleep(_LOOK_SECONDS)


def partitions(raw: RawConsumer, topic: str) -> set[int]:
    """Numbers of the topic's partitions, METADATA_SECONDS old at most; none when there is no topic."""
    return _cluster(raw).partitions_for_topic(topic) or set()


def identity(raw: RawConsumer, topic: str) -> UUID | None:
    """What tells the topic from others of its name; None when it is not there (or before Kafka 2.8)."""
    found = _cluster(raw).topic_id(topic)
    return found if found and found.int else None


def positions(raw: RawConsumer) -> dict[KafkaPartition, int | None]:
    """Where each of our partitions is read next; None before that is known."""
    return {place: state.position.offset if state.position else None for place, state in _states(raw).items()}


def is_behind(raw: RawConsumer) -> bool:
    """Whether our partitions hold more than was polled, or were not looked at yet."""
    return any(
        state.position is None or state.highwater is None or state.position.offset < state.highwater
        for state in _states(raw).values()
    )


def _cluster(raw: Any) -> Any:
    return raw._cluster


def _states(raw: Any) -> dict[KafkaPartition, Any]:
    return dict(raw._subscription.assignment)
