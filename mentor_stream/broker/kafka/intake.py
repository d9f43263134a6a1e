"""Polling, and where to go on when a partition does not have the message that is due.

Runs in the client's thread.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka import KafkaConsumer as RawConsumer
from kafka import errors
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import Bounds, Message, TopicPartition
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka.client import RETRIABLE
from mentor_stream.broker.kafka.knowledge import positions
from mentor_stream.broker.kafka.messages import messages
from mentor_stream.broker.kafka.quiet import Sparingly

log = logging.getLogger(__name__)

QUESTION_SECONDS = 2.0
RETRY_SECONDS = 0.1
_said = Sparingly()
_Truncated: Any = errors.LogTruncationError  # pyright: ignore[reportAttributeAccessIssue]


class Polled(NamedTuple):
    """What came of a poll. Beginnings and gaps come without messages: those come behind them."""

    messages: Sequence[Message] = ()
    begun: Mapping[TopicPartition, int] = {}
    """Partitions for which there was no position, and the first message kept of each: there they begin."""
    gaps: Sequence[Gap] = ()
    """Positions that their partitions do not have. They go on with the first message kept."""


class Intake:
    """Polls one client, which is never to decide by itself where a partition goes on."""

    def __init__(self, raw: RawConsumer) -> None:
        self._raw = raw
        self._new: set[KafkaPartition] = set()
        self._lost: dict[KafkaPartition, int | None] = {}

    def poll(self, most: int, seconds: float) -> Polled:
        """At most `most` messages, waiting a while for the first; nothing while the cluster is away."""
        try:
            if self._new or self._lost:
                return self._settled()
            return Polled(messages(self._raw.poll(timeout_ms=round(seconds * 1000), max_records=most)))
        except errors.NoOffsetForPartitionError as error:
            self._new.update(*error.args)
        except errors.OffsetOutOfRangeError as error:
            self._lost.update(*error.args)
        except _Truncated as error:
            # polled again, the client would go on where it was, in what another history has there
            at = positions(self._raw)
            self._lost |= {place: at.get(place) for place in error.divergent_offsets}
        except RETRIABLE as error:
            if _said.may_say(str(error)):
                log.warning("nothing can be read for now: %s", error)
            time.sleep(RETRY_SECONDS)
        return Polled()

    def _settled(self) -> Polled:
        at = positions(self._raw)
        # a partition that went and came back meanwhile is where it should be
        new = [place for place in self._new if place in at and at[place] is None]
        lost = {place: due for place, due in self._lost.items() if due is not None and at.get(place) == due}
        first = _answer(self._raw.beginning_offsets, [*new, *lost])
        end = _answer(self._raw.end_offsets, list(lost))
        for place, offset in first.items():
            self._raw.seek(place, offset)
        self._new, self._lost = set(), {}
        return Polled(
            begun={TopicPartition(*place): first[place] for place in new},
            gaps=[Gap(TopicPartition(*p), due, Bounds(first[p], end[p])) for p, due in lost.items()],
        )


def _answer(question: Any, places: Sequence[KafkaPartition]) -> Mapping[KafkaPartition, int]:
    return question(places, timeout_ms=round(QUESTION_SECONDS * 1000)) if places else {}
