"""Polling, and where to go on when a partition does not have the message that is due.

Runs in the client's thread.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast
from uuid import UUID

from kafka import KafkaConsumer as RawConsumer
from kafka import errors
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import Bounds, Message, TopicPartition
from mentor_stream.broker.gap import Gap
from mentor_stream.broker.kafka.knowledge import identity, positions
from mentor_stream.broker.kafka.meaning import RETRIABLE, reason
from mentor_stream.broker.kafka.messages import messages
from mentor_stream.broker.kafka.quiet import Sparingly

log = logging.getLogger(__name__)

QUESTION_SECONDS = 2.0
RETRY_SECONDS = 0.1
_said = Sparingly()
_Truncated = cast("Any", errors.LogTruncationError)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


class Polled(NamedTuple):
    """What came of a poll. Beginnings and gaps come without messages: those come behind them."""

    messages: Sequence[Message] = ()
    begun: Mapping[TopicPartition, int] = {}
    """Partitions for which there was no position, and the first message kept of each: there they begin."""
    gaps: Sequence[Gap] = ()
    """Positions that their partitions do not have. They go on with the first message kept."""


class Intake:
    """Polls one client, which is never to decide by itself where a partition goes on."""

    def __init__(self, raw: RawConsumer, topics: Iterable[str]) -> None:
        self._raw = raw
        self._identities: dict[str, UUID | None] = dict.fromkeys(topics)
        self._new: set[KafkaPartition] = set()
        self._lost: dict[KafkaPartition, int | None] = {}

    def poll(self, most: int, seconds: float) -> Polled:
        """At most `most` messages, waiting a while for the first; nothing while the cluster is away."""
        try:
            if self._new or self._lost:
                return self._settled()
            found = self._raw.poll(timeout_ms=round(seconds * 1000), max_records=most)
            anew = self._made_anew()
            if anew:
                self._undo(found, anew)
                return Polled()
            return Polled(messages(found))
        except errors.NoOffsetForPartitionError as error:
            self._new.update(*error.args)
        except errors.OffsetOutOfRangeError as error:
            self._lost.update(*error.args)
        except _Truncated as error:
            # polled again, the client would go on where it was, in what another history has there
            at = positions(self._raw)
            self._lost |= {place: at.get(place) for place in error.divergent_offsets}
        except RETRIABLE as error:
            if _said.may_say(why := reason(error)):
                log.warning("nothing can be read for now: %s", why)
            time.sleep(RETRY_SECONDS)
        return Polled()

    def _made_anew(self) -> set[str]:
        """The topics that were deleted and made again."""
        anew: set[str] = set()
        for topic, known in self._identities.items():
            found = identity(self._raw, topic)
            if found not in (known, None):
                self._identities[topic] = found
                if known is not None:
                    anew.add(topic)
        return anew

    def _undo(self, found: Mapping[KafkaPartition, Sequence[Any]], anew: set[str]) -> None:
        """Forget a poll: positions in a topic made anew are of another, with unread messages before them."""
        for place, records in found.items():
            self._raw.seek(place, records[0].offset)
        self._lost |= {place: at for place, at in positions(self._raw).items() if place.topic in anew}

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
            gaps=[
                Gap(TopicPartition(*place), due, Bounds(first[place], end[place]))
                for place, due in lost.items()
                if due != first[place]
            ],
        )


def _answer(question: Any, places: Sequence[KafkaPartition]) -> Mapping[KafkaPartition, int]:
    return question(places, timeout_ms=round(QUESTION_SECONDS * 1000)) if places else {}
