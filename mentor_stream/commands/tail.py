"""`mentor-stream tail`: a run's stream as it goes by."""

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mentor_stream.commands.arguments import AnyRun
from mentor_stream.commands.moment import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    Lines = Sequence[tuple[str, str, int]]

app = typer.Typer()

What = Literal["hints", "groups", "collapsed", "diagnoses", "guided", "queries", "policies", "dead-letters"]
Ending = Literal["hint", "fallback", "silent", "stale", "exhausted", "superseded", "shed"]
Judged = Literal["right", "wrong", "unscorable", "aborted"]
FILTERS = {
    "outcome": ("diagnoses",),
    "guide": ("hints", "diagnoses", "guided", "groups", "collapsed"),
    "verdict": ("groups", "collapsed"),
    "question": ("hints", "groups", "collapsed", "diagnoses", "guided", "queries"),
}
"""What each filter has anything to choose from."""
LAST = 10
STYLES = {"head": "bold", "good": "green", "bad": "red", "hint": "cyan"}


@app.command(
    short_help="Show hints and what came of them, or a topic's records.",
    epilog="Example: mentor-stream tail hints examples/chain/demo.toml --since 10m",
)
def tail(
    what: Annotated[What, typer.Argument(metavar="WHAT", help="hints, or a topic: groups, collapsed, ...")],
    run: AnyRun,
    since: Annotated[
        str | None, typer.Option(help="From 90s, 30m, 2h, 7d ago on, or from 2026-11-30T12:00.")
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="So many of each partition first.  [default: 10; with a filter all, from the beginning]",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option(help="Go on with what comes, until Ctrl-C.")] = True,
    question: Annotated[
        str | None, typer.Option(help="Only with this in the question, or of this id.")
    ] = None,
    outcome: Annotated[Ending | None, typer.Option(help="Only cases that ended so.")] = None,
    guide: Annotated[str | None, typer.Option(help="Only of this guide.")] = None,
    verdict: Annotated[Judged | None, typer.Option(help="Only groups with such an answer.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead.")] = False,
) -> None:
    """Show hints and what came of them, or a topic's records, in words. Nobody's place is moved by it.

    hints: the question, what went wrong, the hint, and how it then was answered with it.
    """
    from mentor_stream import tools
    from mentor_stream.commands.run import named

    wanted = {"question": question, "outcome": outcome, "guide": guide, "verdict": verdict}
    for option, value in wanted.items():
        if value is not None and what not in FILTERS[option]:
            raise typer.BadParameter(f"--{option} is for {', '.join(FILTERS[option])}: {what} have none")
    config, name = named(run)
    start = None if since is None else moment("--since", since, time.time())
    if start is None and last is None and any(wanted.values()):
        start = 0.0
    tools.load("tail").tail(
        config.run.broker,
        name,
        what,
        wanted,
        _json if json else _show,
        since=start,
        count=LAST if last is None else last,
        follow=follow,
        remark=_remark,
    )


def _remark(said: str) -> None:
    typer.echo(f"mentor-stream: {said}", err=True)


def _json(_: "Lines", document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document, allow_nan=False))


def _show(lines: "Lines", _: dict[str, Any]) -> None:
    from mentor_stream.commands.output import say

    for text, style, indent in lines:
        say(text, STYLES.get(style, ""), indent)
