"""Whether anything can still come to the trainer once the feeder has finished."""

from dataclasses import dataclass
from typing import TypeVar

import schemas
from mentor_stream import topics
from mentor_stream.stream import Stream
from mentor_stream.topics import Topic

R = TypeVar("R", bound=schemas.Record)


@dataclass(frozen=True)
class Queues:
    """How much work waits on the stream at one moment."""

    time: float
    """Seconds since the epoch."""
    queries: int
    """Plain queries that no rollout worker has dealt with."""
    guided: int
    """Guided queries that no rollout worker has dealt with."""
    collapsed: int
    """Collapsed groups that no mentor has dealt with."""
    written: int
    """Records ever written to queries, guided, groups and collapsed."""


async def read_queues(stream: Stream, time: float) -> Queues:
    """The queues as they stand. Raises BrokerError."""
    written = sum(
        [
            await _written(stream, topics.QUERIES),
            await _written(stream, topics.GUIDED),
            await _written(stream, topics.GROUPS),
            await _written(stream, topics.COLLAPSED),
        ]
    )
    return Queues(
        time=time,
        queries=await stream.lag(topics.QUERIES),
        guided=await stream.lag(topics.GUIDED),
        collapsed=await stream.lag(topics.COLLAPSED),
        written=written,
    )


async def _written(stream: Stream, topic: Topic[R]) -> int:
    return sum(bounds.next for bounds in (await stream.bounds(topic)).values())


def drained(earlier: Queues, later: Queues, *, settle_seconds: float, mentored: bool) -> bool:
    """Whether all work on the stream is dealt with, given two readings of it.

    A worker publishes what it made before it releases what it made it from. So as long as any work is
    under way some queue is not empty; and if it moved from one queue to the next while they were read
    one after the other, a record was written between the readings. `mentored` is false when no mentor
    reads the collapsed groups.
    """
    return (
        _empty(earlier, mentored)
        and _empty(later, mentored)
        and earlier.written == later.written
        and later.time - earlier.time >= settle_seconds
    )


def _empty(queues: Queues, mentored: bool) -> bool:
    return queues.queries == queues.guided == 0 and (queues.collapsed == 0 or not mentored)
