"""A range without any recorded case: what its topic holds instead, to be told."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from consumers import following
from mentor_stream.broker import Bounds, Broker, TopicPartition

SAID = 16
"""Partitions whose offsets are told in a sentence; the document has all."""
UNREADABLE = (
    "no recorded case can be read, of {records} records: mentor-stream tail collapsed CONFIG shows why"
)


class Held(NamedTuple):
    """What a topic has."""

    topic: str
    bounds: Mapping[TopicPartition, Bounds]
    first_time: float | None
    """When its oldest record was appended, seconds since the epoch; None where there is none."""
    last_time: float | None

    @property
    def records(self) -> int:
        """How many, at most."""
        return sum(bounds.next - bounds.first for bounds in self.bounds.values())

    @property
    def offsets(self) -> str:
        """As --offsets takes them."""
        kept = sorted((place, b) for place, b in self.bounds.items() if b.first < b.next)
        return ",".join(f"{place.partition}:{b.first}-{b.next - 1}" for place, b in kept)


def document(run: str, wanted: str, held: Held) -> dict[str, Any]:
    """What is told of a range, given as `wanted`, in which nothing lies: its `problem` in a sentence."""
    return {
        "matched": 0,
        "problem": _sentence(run, wanted, held),
        "recorded": {
            "topic": held.topic,
            "records": held.records,
            "first_time": held.first_time,
            "last_time": held.last_time,
            "offsets": held.offsets,
        },
    }


async def held(broker: Broker, topic: str) -> Held:
    """What a topic has at this moment. Raises UnknownTopic."""
    bounds = await broker.bounds(topic)
    kept = {place: b for place, b in bounds.items() if b.first < b.next}
    begins = [await following.appended(broker, place, b.first) for place, b in kept.items()]
    ends = [await following.appended(broker, place, b.next - 1) for place, b in kept.items()]
    known = [time for time in (*begins, *ends) if time is not None]
    return Held(topic, bounds, min(known, default=None), max(known, default=None))


def _sentence(run: str, wanted: str, held: Held) -> str:
    if not held.records:
        return (
            f"nothing to replay: {held.topic} is empty. No group of run {run} has collapsed, or it is a "
            "replay, whose cases are on the run that it replayed"
        )
    span, offsets = "", held.offsets.split(",")
    if held.first_time is not None and held.last_time is not None:
        span = f", from {_moment(held.first_time)} to {_moment(held.last_time)}"
    return (
        f"no recorded case matches {wanted}: {held.topic} has {held.records} records{span}, at --offsets "
        f"{','.join(offsets[:SAID])}{' ...' * (len(offsets) > SAID)}"
    )


def _moment(time: float) -> str:
    """As --since and --until take it."""
    return datetime.fromtimestamp(time).isoformat(timespec="seconds")  # noqa: DTZ006
