"""Putting dead letters aside that cannot go back, or that nobody wants back. Nothing is deleted."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from mentor_stream.broker import Broker
from mentor_stream.commands.dead_letters import letters, marks
from mentor_stream.commands.dead_letters.letters import Letter, home
from mentor_stream.commands.dead_letters.requeue import refusal


@dataclass(frozen=True, slots=True)
class Dismissal:
    """What became of a letter that was to be dismissed."""

    place: int
    done: bool
    reason: str = ""
    """Why it was not dismissed, and the way out; or why it had to be."""


async def dismiss(broker: Broker, run: str, chosen: Sequence[Letter]) -> list[Dismissal]:
    """Mark letters as dismissed, each once; one that was requeued is none to dismiss."""
    async with broker.producer() as producer:
        for letter in chosen:
            if not letter.settled:
                value, headers = marks.dismissal(home(run), letter.place)
                await producer.send(home(run).topic, marks.OPERATOR.encode(), value, headers)
    return [
        Dismissal(letter.place, False, f"it was requeued, to {letter.requeued.to}")
        if letter.requeued
        else Dismissal(letter.place, True)
        for letter in chosen
    ]


async def dismiss_unrequeueable(
    broker: Broker, run: str, chosen: Sequence[Letter], *, sure: bool
) -> list[Dismissal]:
    """Those of the letters that nothing was done about and requeue refuses; merely named unless `sure`."""
    reasons: dict[int, str] = {}
    async with aclosing(letters.whole(broker, run, [one for one in chosen if not one.settled])) as found:
        async for letter in found:
            if reason := refusal(letter, run, force=False):
                reasons[letter.place] = f"requeue refuses it: {reason}"
    if sure:
        await dismiss(broker, run, [letter for letter in chosen if letter.place in reasons])
    unsure = "" if sure else "--yes dismisses it; "
    return [Dismissal(place, sure, f"{unsure}{reason}") for place, reason in reasons.items()]
