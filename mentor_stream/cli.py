"""The command line: every command there is (commands/), and how it ends when something is wrong.

Starting it imports typer only; each command imports what it needs.
"""

import errno
import os
import sys
from pathlib import Path

import typer

from mentor_stream.causes import causes
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


def main() -> None:
    """Entry point. What a user can mend is a clear line and exit code 2; anything unexpected a traceback.

    A component that may be luckier when it is started again ends with 75, EX_TEMPFAIL of sysexits.h.
    """
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        app()
    except components.Passing as passing:
        for said in str(passing).splitlines():
            typer.echo(f"mentor-stream: {said}", err=True)
        sys.exit(75)
    except Exception as error:
        from mentor_stream import legible

        found = causes(error)
        if not all(map(_is_users, found)):
            raise
        for cause in found:
            said = (
                f"what it prints cannot be written: {os.strerror(errno.ENOSPC)}" if _is_full(cause) else cause
            )
            typer.echo("\n".join(map(legible.line, f"mentor-stream: {said}".split("\n"))), err=True)
        sys.exit(2)
    except BaseExceptionGroup as group:  # what trio makes of Ctrl-C
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        sys.exit(130)


def _is_full(error: BaseException) -> bool:
    """Whether the disk behind the output is."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None


def _is_users(error: BaseException) -> bool:
    from mentor_stream.broker.base import BrokerError
    from mentor_stream.config import ConfigError
    from mentor_stream.snapshots import SnapshotError

    return isinstance(error, ConfigError | BrokerError | SnapshotError) or _is_full(error)


if __name__ == "__main__":
    main()
