"""`mentor-stream export` and `import`: a run as one file, and back."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mentor_stream.commands.arguments import AnyRun, AsJson
from mentor_stream.commands.moment import between

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="out.parquet or out.db.")]


@app.command(
    short_help="Write what a run has recorded to one file.",
    epilog="Example: mentor-stream export examples/chain/demo.toml demo.parquet",
)
def export(
    run: AnyRun,
    file: File,
    topics: Annotated[
        str | None, typer.Option(help="Only these: groups,collapsed.  [default: all there are]")
    ] = None,
    since: Annotated[str | None, typer.Option(help="From 2h ago on, or from 2026-11-30T12:00.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to then.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file that is there.")] = False,
    json: AsJson = False,
) -> None:
    """Write what a run has recorded up to now to one file: for pandas, or to be read and replayed elsewhere.

    Nothing of the run is touched, and it may go on meanwhile. A .db is used as it is: run.broker =
    "sqlite:///out.db". A .parquet goes back into a stream with `mentor-stream import`.
    """
    from mentor_stream import tools
    from mentor_stream.commands.progress import counting
    from mentor_stream.commands.run import named

    config, name = named(run)
    begun = time.monotonic()
    begin, end = between(since, until, time.time())
    with counting() as progress:
        document = tools.load("archive").export(
            progress,
            url=config.run.broker,
            run=name,
            config=config.path if name == config.run.name else None,
            batches=config.run.directory / "batches.jsonl" if name == config.run.name else None,
            path=file,
            topics=[part.strip() for part in topics.split(",")] if topics else [],
            since=begin,
            until=end,
            force=force,
        )
    _tell(document | {"seconds": round(time.monotonic() - begun, 3)}, as_json=json)


@app.command(
    "import",
    short_help="Put an exported run into a stream.",
    epilog="Example: mentor-stream import demo.parquet runs/laptop",
)
def import_(
    file: File,
    to: Annotated[
        str | None,
        typer.Argument(
            metavar="TO", help="A folder, a .db, or CONFIG[:RUN] whose broker is such.", show_default=False
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Only tell whether FILE is as it was written.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Put an exported run into a stream, with its offsets and times: all of it appears at once, or nothing.

    Into a folder it comes with the config that it travels with, as run.toml. What is there already is not
    written over; the same archive again changes nothing.
    """
    from mentor_stream import tools
    from mentor_stream.commands.progress import counting
    from mentor_stream.commands.run import named, parted

    archive = tools.load("archive")
    begun = time.monotonic()
    if (to is None) != verify:
        raise typer.BadParameter("say TO what to import it, or --verify to only look at it")
    with counting() as progress:
        if to is None:
            document = archive.verify(progress, file)
        elif to.endswith(".db"):
            document = archive.restore(progress, file, archive.url(Path(to)), None)
        elif parted(to)[0].suffix == ".toml":
            config, name = named(to)
            document = archive.restore(progress, file, config.run.broker, name)
        else:
            document = archive.restore_home(progress, file, Path(to))
    _tell(document | {"seconds": round(time.monotonic() - begun, 3)}, as_json=json)


def _tell(document: dict[str, Any], *, as_json: bool) -> None:
    from mentor_stream.commands.output import print_json, say, table

    if as_json:
        print_json(document)
        return
    missing = (">missing",) if document["missing"] else ()
    rows = [_row(topic, missing=bool(missing)) for topic in document["topics"]]
    table(("topic", ">messages", ">MB", *missing, "first", "last"), rows, title=f"run {document['run']}")
    typer.echo(f"digest {document['digest']}")
    say(f"{document['file']}, {document['seconds']:.1f} s")
    for sentence in _remarks(document):
        say(sentence)


def _row(topic: dict[str, Any], *, missing: bool) -> "Sequence[str]":
    from datetime import datetime

    from mentor_stream.amounts import amount

    counts = [f"{topic['messages']:,}", amount(topic["bytes"] / 1e6)]
    if missing:
        counts.append(f"{topic['missing']:,}")
    times = [
        datetime.fromtimestamp(t).isoformat(" ", "seconds") if t is not None else "-"  # noqa: DTZ006
        for t in (topic["first_time"], topic["last_time"])
    ]
    return (topic["topic"], *counts, *times)


def _remarks(document: dict[str, Any]) -> "Sequence[str]":
    said: list[str] = []
    if not document["messages"]:
        said.append("No message was asked for, or there is none: the archive is empty.")
    if document["missing"]:
        said.append(
            f"{document['missing']:,} messages are missing: retention had taken them before the export."
        )
    if document.get("absent"):
        said.append(f"Not on the broker: {', '.join(document['absent'])}.")
    if document.get("left_out"):
        said.append(f"Of the config these did not go along: {', '.join(document['left_out'])}.")
    if document.get("written"):
        said.append(f"Written: {', '.join(document['written'])}.")
    if document.get("already_there"):
        said.append("This archive was there already: nothing was changed.")
    elif document.get("of_run") not in (None, document["run"]):
        said.append(
            f"Its name was {document['of_run']}: dead letters and checkpoints still name topics of that run."
        )
    return said
