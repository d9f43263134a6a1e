"""The dead letters of a run, and the marks among them that say which ones were requeued.

A mark stands behind its letter on the same topic: a short letter with the header REQUEUED, which holds the
letter's offset. So it is kept as long as what it speaks of, and every operator sees it.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import msgspec

import schemas
from mentor_stream import topics
from mentor_stream.broker import (
    EARLIEST,
    Broker,
    BrokerError,
    Message,
    Reader,
    Receipt,
    TopicPartition,
    UnknownTopic,
)

OPERATOR = "operator"
"""The source of a mark, and its key."""
REQUEUED, REQUEUED_TO = "requeued", "requeued-to"
"""Headers of a mark: the offset of the letter that was requeued, and where its record stands since."""


@dataclass(frozen=True, slots=True)
class Mark:
    """That a letter was requeued."""

    time: float
    """Seconds since the epoch."""
    to: str
    """topic/partition/offset of its record since."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as it stands on its topic."""

    place: int
    """Its offset there."""
    time: float
    """When it was written, seconds since the epoch."""
    size: int
    """Bytes of the record it holds."""
    held: schemas.DeadLetter | None
    """None: the letter cannot be read itself, and `error` says why."""
    error: str
    """Why the record was refused."""
    raw: bytes = b""
    """The letter's own bytes when it cannot be read."""
    requeued: Mark | None = None


class NoLetter(BrokerError):
    """There is no dead letter at this place."""


def home(run: str) -> TopicPartition:
    """Where the letters of a run stand."""
    return TopicPartition(topics.DEAD_LETTERS.of(run), 0)


def spelled(place: Receipt) -> str:
    """A message's place in one word."""
    return f"{place.topic}/{place.partition}/{place.offset}"


async def find(broker: Broker, run: str, *, since: float | None = None) -> list[Letter]:
    """The letters written at or after `since` (seconds), oldest first, without the bytes they hold."""
    here = await _existing(broker, run)
    start = EARLIEST if since is None else (await broker.offsets_at(here.topic, since))[here]
    found: dict[int, Letter] = {}
    async with reading(broker, run, start) as messages:
        async for message in messages:
            if not (mark := marked(message)):
                found[message.offset] = _without_bytes(letter(message))
            elif mark[0] in found:
                found[mark[0]] = replace(found[mark[0]], requeued=mark[1])
    return list(found.values())


async def get(broker: Broker, run: str, place: int) -> Letter:
    """One letter, whole. Raises NoLetter."""
    here = await _existing(broker, run)
    first, after = (await broker.bounds(here.topic))[here]
    found: Letter | None = None
    if first <= place < after:
        async with reading(broker, run, place) as messages:
            async for message in messages:
                mark = marked(message)
                if message.offset == place and not mark:
                    found = letter(message)
                elif found and mark and mark[0] == place:
                    found = replace(found, requeued=mark[1])
    if found is None:
        raise NoLetter(f"{here.topic} has no dead letter {place}: `dead-letters list` shows which there are")
    return found


@asynccontextmanager
async def reading(broker: Broker, run: str, start: int) -> AsyncGenerator[Reader]:
    """The topic's messages, letters and marks, from `start` up to its present end."""
    here = await _existing(broker, run)
    async with broker.reader({here: start}, follow=False, on_gap="earliest") as reader:
        yield reader


async def _existing(broker: Broker, run: str) -> TopicPartition:
    here = home(run)
    partitions = (await broker.topics()).get(here.topic)
    if partitions is None:
        raise UnknownTopic(f"{here.topic} does not exist: `mentor-stream topics create CONFIG` makes it")
    if partitions != 1:
        raise BrokerError(f"{here.topic} has {partitions} partitions, and must have 1: see `topics create`")
    return here


def letter(message: Message) -> Letter:
    """The letter in a message that is no mark."""
    try:
        held = schemas.decode(message.value, schemas.DeadLetter)
    except schemas.RecordError as error:
        reason = f"{type(error).__name__}: {error}"
        return Letter(message.offset, message.timestamp, len(message.value), None, reason, message.value)
    return Letter(message.offset, message.timestamp, len(held.value), held, held.error)


def marking(held: schemas.DeadLetter, place: int, to: Receipt) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Value and headers of the mark that says that the letter at `place` was requeued."""
    error = f"letter {place} was requeued to {spelled(to)}"
    note = msgspec.structs.replace(
        held, source=OPERATOR, error=error, key=b"", value=b"", whole=False, time=time.time()
    )
    return schemas.encode(note), [(REQUEUED, f"{place}".encode()), (REQUEUED_TO, spelled(to).encode())]


def marked(message: Message) -> tuple[int, Mark] | None:
    """The place of the letter that this message says was requeued, when it is a mark."""
    headers = dict(message.headers)
    place = headers.get(REQUEUED, b"")
    if not place.isdigit() or len(place) > 18:
        return None
    held = letter(message).held
    if held is None or held.source != OPERATOR:
        return None  # a letter that somebody gave our header
    return int(place), Mark(message.timestamp, headers.get(REQUEUED_TO, b"").decode(errors="replace"))


def _without_bytes(letter: Letter) -> Letter:
    held = letter.held
    return replace(letter, raw=b"", held=held and msgspec.structs.replace(held, key=b"", value=b""))
