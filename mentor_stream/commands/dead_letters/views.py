"""Dead letters in words, rows and JSON, for `mentor-stream dead-letters`. What they hold is escaped."""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import typer

from mentor_stream import legible
from mentor_stream.commands import output
from mentor_stream.commands.dead_letters.dismiss import Dismissal
from mentor_stream.commands.dead_letters.letters import Letter, spelled
from mentor_stream.commands.dead_letters.requeue import Outcome, unreadable

LISTED_ERROR = 120


def show_letters(found: Sequence[Letter]) -> None:
    """Print a table, the newest last."""
    if not found:
        typer.echo("no dead letters")
        return
    rows = [
        (f"{one.place}", _local(one.time), _origin(one), _source(one), _size(one), _state(one), _reason(one))
        for one in found
    ]
    output.table([">place", "when", "where", "refused by", ">size", "state", "why"], rows)


def print_lines(found: Iterable[Letter]) -> None:
    """Print a JSON object a line."""
    for letter in found:
        typer.echo(json.dumps(_summary(letter)))


def show_letter(letter: Letter) -> None:
    """Print everything about a letter and what it holds."""
    held = letter.held
    facts = [("when", _local(letter.time)), ("where", _origin(letter)), ("refused by", _source(letter))]
    facts += [("why", legible.line(letter.error)), ("size", _size(letter)), ("state", _state(letter))]
    if held is not None:
        facts += [("key", legible.line(held.key.decode(errors="backslashreplace")))]
        reason = unreadable(held)
        facts += [("readable now", f"no: {reason}" if reason else "yes")]
    output.table(["", ""], [(name, legible.line(value)) for name, value in facts])
    typer.echo(legible.view(letter.raw if held is None else held.value))


def letter_json(letter: Letter) -> dict[str, Any]:
    """The same for programs, with all the bytes."""
    held = letter.held
    value = letter.raw if held is None else held.value
    try:
        record = legible.structure(value)
    except ValueError:
        record = None
    return _summary(letter) | {
        "key": None if held is None else b64encode(held.key).decode(),
        "value": b64encode(value).decode(),
        "unreadable": letter.error if held is None else unreadable(held) or None,
        "record": record,
    }


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print what became of each letter."""
    for outcome in outcomes:
        done = (
            f"requeued to {spelled(outcome.to)}"
            if outcome.to
            else f"refused: {legible.line(outcome.refusal)}"
        )
        typer.echo(f"letter {outcome.place} {done}")
    if not outcomes:
        typer.echo("no dead letters to requeue")


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The same for programs."""
    to = outcome.to
    return {
        "place": outcome.place,
        "requeued": to is not None,
        "topic": to and to.topic,
        "partition": to and to.partition,
        "offset": to and to.offset,
        "refusal": outcome.refusal or None,
    }


def show_dismissals(outcomes: Sequence[Dismissal]) -> None:
    """Print what became of each letter."""
    for outcome in outcomes:
        what = "dismissed" if outcome.done else "not dismissed"
        typer.echo(
            f"letter {outcome.place} {what}{': ' * bool(outcome.reason)}{legible.line(outcome.reason)}"
        )
    if not outcomes:
        typer.echo("no dead letters to dismiss")


def dismissal_json(outcome: Dismissal) -> dict[str, Any]:
    """The same for programs."""
    return {"place": outcome.place, "dismissed": outcome.done, "reason": outcome.reason or None}


def _summary(letter: Letter) -> dict[str, Any]:
    held, mark, aside = letter.held, letter.requeued, letter.dismissed
    return {
        "place": letter.place,
        "time": letter.time,
        "topic": held and held.topic,
        "partition": held and held.partition,
        "offset": held and held.offset,
        "source": held and held.source,
        "error": letter.error,
        "bytes": letter.size,
        "whole": held is not None and held.whole,
        "requeued": mark and {"time": mark.time, "to": mark.to},
        "dismissed": aside and {"time": aside.time},
    }


def _origin(letter: Letter) -> str:
    held = letter.held
    return legible.line(f"{held.topic}/{held.partition}/{held.offset}") if held else "unknown"


def _source(letter: Letter) -> str:
    return legible.line(letter.held.source) if letter.held else "unknown"


def _size(letter: Letter) -> str:
    return f"{letter.size:,} B"


def _state(letter: Letter) -> str:
    states = ["" if letter.held and letter.held.whole else "cut" if letter.held else "unreadable"]
    states += [f"requeued to {letter.requeued.to}"] if letter.requeued else []
    states += ["dismissed"] if letter.dismissed else []
    return legible.line(", ".join(filter(None, states)) or "whole")


def _reason(letter: Letter) -> str:
    text = legible.line(letter.error)
    return text if len(text) <= LISTED_ERROR else f"{text[:LISTED_ERROR]}..."


def _local(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
