"""How far a run's metrics were written, beside what was written of them."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import msgspec

from consumers.writers.points import Reached
from mentor_stream import disk
from mentor_stream.config import ConfigError

NAME = "mentor-stream.json"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """All that a later call must know."""

    run: str
    writer: str
    reached: Reached = Reached()
    marks: dict[str, int] = {}


def read(directory: Path, run: str, writer: str) -> Progress:
    """What was written into a directory before. Raises ConfigError when that was something else."""
    path = directory / NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Progress)
    except FileNotFoundError:
        return Progress(run=run, writer=writer)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}. Name another DIR, or remove this one") from error
    if (found.run, found.writer) != (run, writer):
        raise ConfigError(
            f"DIR is {str(directory)!r}: it holds run {found.run!r} for {found.writer}. Name another one"
        )
    return found


def write(directory: Path, progress: Progress) -> None:
    """Keep it; on return it is durable, and whole at any moment."""
    draft = directory / f".{NAME}.draft"
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(progress))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / NAME)


@contextmanager
def held(directory: Path) -> Generator[None]:
    """The directory, for this process alone. Raises ConfigError when another one writes there."""
    disk.check_folder("DIR", directory)
    with (directory / f".{NAME}.lock").open("wb") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                f"DIR is {str(directory)!r}: another process writes there. Name another"
            ) from error
        yield
