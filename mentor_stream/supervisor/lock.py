"""One `up` per run, and no second set of components while one is still stopping."""

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import IO

import anyio

from mentor_stream.config import ConfigError

SUPERVISOR = "up.lock"
"""Held by the supervisor alone; holds its process id."""
COMPONENTS = "components.lock"
"""Held by the supervisor and inherited by every component: free when the last of them is gone."""


class RunBusy(Exception):
    """Another supervisor, or components that one left behind, work on the run."""


@asynccontextmanager
async def hold(directory: Path, *, patience: float) -> AsyncGenerator[int]:
    """Hold the run; yields the descriptor that the components must inherit.

    The kernel frees both locks, however their holders die. Raises RunBusy at once when another supervisor
    lives, and after `patience` seconds when the components of a dead one have still not stopped; ConfigError
    for a directory that cannot be written.
    """
    with ExitStack() as files:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            mine, shared = (
                files.enter_context((directory / name).open("a+")) for name in (SUPERVISOR, COMPONENTS)
            )
        except OSError as error:
            raise ConfigError(
                f"run.directory is {str(directory)!r}: it cannot be written ({error.strerror}). Set it to a "
                "directory that can"
            ) from error
        if not _try(mine):
            mine.seek(0)
            raise RunBusy(
                f"another mentor-stream up (process {mine.read().strip() or 'unknown'}) is running in "
                f"{directory}. Stop it first, or set run.name and run.directory to others."
            )
        mine.truncate(0)
        mine.write(f"{os.getpid()}\n")
        mine.flush()
        await _wait(shared, patience)
        yield shared.fileno()


async def _wait(shared: IO[str], patience: float) -> None:
    with anyio.move_on_after(patience):
        while not _try(shared):
            await anyio.sleep(0.1)
        return
    raise RunBusy(
        f"components that an earlier mentor-stream up left behind are still at work after {patience:g} s: "
        f"`fuser {shared.name}` lists them. Stop them first."
    )


def _try(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
