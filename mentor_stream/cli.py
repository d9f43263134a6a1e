"""The command line: every command there is (commands/), and how it ends when something is wrong.

Starting it imports typer only; each command imports what it needs.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from mentor_stream.commands import (
    archive,
    check,
    comparison,
    components,
    dead_letters,
    evaluation,
    metrics,
    monitor,
    replay,
    retraining,
    schemas,
    size,
    tail,
    topics,
    up,
)

app = typer.Typer(
    name="mentor-stream",
    help="Reinforcement learning that turns questions nobody could answer into lessons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich help takes twice the time
)

for command in (
    components,
    up,
    check,
    evaluation,
    monitor,
    tail,
    replay,
    retraining,
    archive,
    comparison,
    schemas,
    topics,
    size,
    dead_letters,
    metrics,
):
    app.add_typer(command.app)


def say_version(wanted: bool) -> None:
    """Say which release this is, and end."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"mentor-stream {version('mentor-stream')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=say_version, is_eager=True)
    ] = False,
) -> None:
    """Before any command."""


def main() -> None:
    """Entry point. What a user can mend is a clear line and exit code 2; anything unexpected a traceback.

    What may be luckier when it is started again ends with 75, EX_TEMPFAIL of sysexits.h.
    """
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        app()
    except Exception as error:
        from mentor_stream import exits

        if (end := exits.of_command(error)) is None:
            raise
        exits.say_and_leave(end)
    except BaseExceptionGroup as group:  # what trio makes of Ctrl-C
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        sys.exit(130)


if __name__ == "__main__":
    main()
