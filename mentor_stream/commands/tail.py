"""`mentor-stream tail`: a run's stream as it goes by."""

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mentor_stream.commands.arguments import AnyRun
from mentor_stream.commands.moment import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, RenderableType

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
    show = _json if json else _printer()
    tools.load("tail").tail(
        config.run.broker,
        name,
        what,
        wanted,
        show,
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


def _printer() -> "Callable[[Lines, dict[str, Any]], None]":
    """Prints lines: as wide as the terminal and in colour there, whole and plain into a pipe."""
    import sys

    from rich.console import Console

    console = Console(file=sys.stdout)

    def show(lines: "Lines", _: dict[str, Any]) -> None:
        for text, style, indent in lines:
            if console.is_terminal:
                console.print(_wrapped(console, text, STYLES.get(style, ""), indent))
            else:
                typer.echo(text)

    return show


def _wrapped(console: "Console", text: str, style: str, indent: int) -> "RenderableType":
    """In rows as wide as the terminal, from the second on behind so many columns."""
    from rich.console import Group
    from rich.text import Text

    if console.width < 2 * indent:
        return Text(text, style=style, overflow="fold")
    first, rest = text[:indent], Text(text[indent:], style=style, overflow="fold")
    rows = rest.wrap(console, console.width - indent)
    return Group(
        *(Text.assemble((first if not n else " " * indent, style), row) for n, row in enumerate(rows))
    )
