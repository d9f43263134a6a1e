"""`mentor-stream replay`: another mentor policy over the failures that a run has recorded."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mentor_stream.commands.arguments import AsJson, Recorded
from mentor_stream.commands.moment import between

app = typer.Typer()
COUNTED = (
    ("cases", "cases"), ("agents' calls", "calls"), ("calls that failed", "errors"), ("repairs", "refined"),
    ("fresh drafts", "redrafted"), ("drafts refused as a leak", "leaks"), ("prompt tokens", "prompt_tokens"),
    ("completion tokens", "completion_tokens"), ("cost", "cost"), ("seconds of all cases", "seconds"),
    ("records that cannot be read", "unreadable"), ("cases recorded again", "repeated"),
)  # fmt: skip
"""In words, as `compare` has them; and as the document."""


@app.command(
    short_help="Have a guide teach recorded failures again, offline.",
    epilog="Example: mentor-stream replay --from examples/chain/demo.toml --to again --cache runs/replies",
)
def replay(
    recorded: Recorded,
    to: Annotated[str, typer.Option(help="A name for the run that lessons and diagnoses go to.")],
    guide: Annotated[
        Path | None, typer.Option(help="A TOML file with the [mentor] that teaches.  [default: --from's]")
    ] = None,
    since: Annotated[str | None, typer.Option(help="From 2h ago on, or from 2026-11-30T12:00.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to then.")] = None,
    offsets: Annotated[
        str | None, typer.Option(help="PARTITION:FIRST-LAST,... instead: 0:17-40,1:-99.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="A folder for replies: what was asked there is free.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Cases at once.  [default: mentor.concurrency]")
    ] = None,
    json: AsJson = False,
) -> None:
    """Have a guide teach recorded failures again: no trainer, no GPU, and nothing of the run is touched.

    Stopped and started again, it goes on. With a --cache a second replay says the same, byte for byte.
    """
    from functools import partial

    from mentor_stream import tools
    from mentor_stream.commands.output import print_json
    from mentor_stream.commands.progress import counting
    from mentor_stream.commands.run import named
    from mentor_stream.config import ConfigError

    if offsets and (since or until):
        raise typer.BadParameter("--offsets is for one range, --since and --until for another")
    own, run = named(recorded)
    begin, end = between(since, until, time.time())
    with counting() as progress:
        document = tools.load("replay").replay(
            partial(progress, to),
            recorded=own,
            run=run,
            guide=guide,
            to=to,
            since=begin,
            until=end,
            offsets=offsets,
            cache=cache,
            concurrency=concurrency,
        )
    problem = document.get("problem")
    if json:
        print_json(document)
    elif not problem:
        _print(document)
    if problem:
        raise ConfigError(problem)


def _print(document: dict[str, Any]) -> None:
    from mentor_stream.amounts import amount
    from mentor_stream.commands.output import table

    rows = [(f"outcome: {outcome}", amount(count)) for outcome, count in document["outcomes"].items()]
    rows += [(words, amount(document[name])) for words, name in COUNTED]
    if document["replies"]:
        rows += [(f"replies {how}", amount(count)) for how, count in document["replies"].items()]
    table(("", ">"), rows, title=f"{document['run']}, by {document['guide']}")
    typer.echo(f"digest {document['digest']}")
