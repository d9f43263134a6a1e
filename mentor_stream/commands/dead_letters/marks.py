"""What operators did about dead letters, said by short letters on the same topic.

A mark stands behind the letter it is about: its source is the operator, and a header holds the letter's
offset. So it is kept as long as what it speaks of, and every operator sees it.
"""

import time
from dataclasses import dataclass

import msgspec

import schemas
from mentor_stream.broker import Message, TopicPartition

OPERATOR = "operator"
"""The source of a mark, and its key."""
REQUEUED, REQUEUED_TO = "requeued", "requeued-to"
"""Headers of a mark: the offset of the letter that was requeued, and where its record stands since."""
DISMISSED = "dismissed"
"""Header of a mark: the offset of the letter that was dismissed."""

Marking = tuple[bytes, list[tuple[str, bytes]]]
"""Value and headers of a mark."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What an operator did about a letter."""

    time: float
    """Seconds since the epoch."""
    to: str | None = None
    """topic/partition/offset of its record since it was requeued; None: it was dismissed."""


def requeueing(held: schemas.DeadLetter, place: int, to: str) -> Marking:
    """The mark that says that the letter at `place` was requeued."""
    error = f"letter {place} was requeued to {to}"
    note = msgspec.structs.replace(
        held, source=OPERATOR, error=error, key=b"", value=b"", whole=False, time=time.time()
    )
    return schemas.encode(note), [(REQUEUED, f"{place}".encode()), (REQUEUED_TO, to.encode())]


def dismissal(home: TopicPartition, place: int) -> Marking:
    """The mark that says that the letter at `place` of `home` was dismissed."""
    note = schemas.DeadLetter(
        source=OPERATOR,
        topic=home.topic,
        partition=home.partition,
        offset=place,
        error=f"letter {place} was dismissed",
        key=b"",
        value=b"",
        whole=False,
        time=time.time(),
    )
    return schemas.encode(note), [(DISMISSED, f"{place}".encode())]


def marked(message: Message) -> tuple[int, Mark] | None:
    """The place of the letter that this message is about, and what it says, when it is a mark."""
    headers = dict(message.headers)
    place = headers.get(REQUEUED) or headers.get(DISMISSED, b"")
    if not place.isdigit() or len(place) > 18 or not _of_operator(message):
        return None
    to = headers.get(REQUEUED_TO, b"").decode(errors="replace") if REQUEUED in headers else None
    return int(place), Mark(message.timestamp, to)


def _of_operator(message: Message) -> bool:
    """Whether it is not a letter that somebody gave our header."""
    try:
        return schemas.decode(message.value, schemas.DeadLetter).source == OPERATOR
    except schemas.RecordError:
        return False
