"""Putting the records of dead letters back where they came from."""

from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass

import schemas
from mentor_stream import topics
from mentor_stream.broker import Broker, MessageTooLarge, Producer, Receipt, UnknownTopic
from mentor_stream.commands.dead_letters import letters, marks
from mentor_stream.commands.dead_letters.letters import Letter, home, spelled

REQUEUED_FROM = "requeued-from"
"""Header of a message that came out of a dead letter: topic/partition/offset of the letter."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a letter that was to be requeued."""

    place: int
    to: Receipt | None = None
    """Where its record stands now; None: it was refused."""
    refusal: str = ""
    """Why, and the way out."""


def refusal(letter: Letter, run: str, *, force: bool) -> str:
    """Why a letter must not be requeued, and the way out; empty when it may be. Pure."""
    if letter.held is None:
        return f"it cannot be read itself ({letter.error})"
    of_run, topic = topics.parse(letter.held.topic) or ("", None)
    if topic is None or of_run != run:
        return f"{letter.held.topic} is no topic of run {run!r}"
    if not letter.held.whole:
        return "only a part of the record was kept (see topics.dead_letters.max_record_bytes): write it again"
    if force:
        return ""
    if letter.requeued:
        return f"it was requeued already, to {letter.requeued.to}; --force does it again"
    if letter.dismissed:
        return "it was dismissed; --force requeues it all the same"
    if topic.ordered:
        return f"it would be out of its turn, and readers of {letter.held.topic} rely on it; --force does it"
    if reason := unreadable(letter.held):
        return f"it would come straight back ({reason}): use a program that can read it; --force does it"
    return ""


def unreadable(held: schemas.DeadLetter) -> str:
    """Why this program cannot read the record in a letter; empty when it can. Pure."""
    _, topic = topics.parse(held.topic) or ("", None)
    if topic is None:
        return f"{held.topic} is no topic of any run"
    try:
        schemas.decode(held.value, topic.record, max_bytes=topics.LARGEST_RECORD_BYTES)
    except schemas.RecordError as error:
        return f"{type(error).__name__}: {error}"
    return ""


async def requeue(broker: Broker, run: str, chosen: Collection[Letter], *, force: bool) -> list[Outcome]:
    """Append the records of letters that letters.find found to their topics; one outcome each.

    The record comes first and the mark after it: a crash in between leaves a letter that can be requeued
    again, which ids make harmless, and none that is taken for requeued and was not.
    """
    outcomes: dict[int, Outcome] = {}
    async with broker.producer() as producer, aclosing(letters.whole(broker, run, chosen)) as found:
        async for letter in found:
            outcomes[letter.place] = await _requeue(producer, run, letter, force)
    taken = "retention has just taken it"
    return [outcomes.get(letter.place) or Outcome(letter.place, refusal=taken) for letter in chosen]


async def _requeue(producer: Producer, run: str, letter: Letter, force: bool) -> Outcome:
    if reason := refusal(letter, run, force=force):
        return Outcome(letter.place, refusal=reason)
    held = letter.held
    assert held
    origin = [(REQUEUED_FROM, spelled(Receipt(*home(run), letter.place)).encode())]
    try:
        to = await producer.send(held.topic, held.key, held.value, origin)
    except (MessageTooLarge, UnknownTopic) as error:
        return Outcome(letter.place, refusal=f"{error}")
    value, headers = marks.requeueing(held, letter.place, spelled(to))
    await producer.send(home(run).topic, marks.OPERATOR.encode(), value, headers)
    return Outcome(letter.place, to)
