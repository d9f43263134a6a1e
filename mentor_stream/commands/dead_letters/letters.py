"""The dead letters of a run, with what the marks among them (marks.py) say of them."""

from collections.abc import AsyncGenerator, Iterable
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
from mentor_stream.commands.dead_letters.marks import Mark, marked


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
    dismissed: Mark | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do about it."""
        return bool(self.requeued or self.dismissed)

    def is_of(self, topic: str | None, source: str | None = None) -> bool:
        """Whether its record stood on this topic and this component refused it; None is any."""
        if self.held is None:
            return topic is None and source is None
        return topic in (None, self.held.topic) and source in (None, self.held.source)

    def marked(self, mark: Mark) -> "Letter":
        """The letter under one mark more."""
        return replace(self, dismissed=mark) if mark.to is None else replace(self, requeued=mark)


ABSENT = "there is no such letter"


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
                found[mark[0]] = found[mark[0]].marked(mark[1])
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
                    found = found.marked(mark[1])
    if found is None:
        raise NoLetter(f"{here.topic} has no dead letter {place}: `dead-letters list` shows which there are")
    return found


async def whole(broker: Broker, run: str, chosen: Iterable[Letter]) -> AsyncGenerator[Letter]:
    """Letters that `find` found, with the bytes they hold; what retention has just taken does not come."""
    wanted = {letter.place: letter for letter in chosen}
    if not wanted:
        return
    async with reading(broker, run, min(wanted)) as messages:
        async for message in messages:
            if known := wanted.pop(message.offset, None):
                yield replace(letter(message), requeued=known.requeued, dismissed=known.dismissed)
            if not wanted:
                break


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


def _without_bytes(letter: Letter) -> Letter:
    held = letter.held
    return replace(letter, raw=b"", held=held and msgspec.structs.replace(held, key=b"", value=b""))
