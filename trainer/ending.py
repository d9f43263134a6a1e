"""How ranks end when something is wrong: one of them tells why, and whoever started them says it and ends so.

The place where it is told is a file that is not there yet, named in the environment. The first rank to need
it makes it, before the others can know that it has gone: what they end of then is no news.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from mentor_stream import exits
from mentor_stream.exits import Exit
from mentor_stream.metrics.readings import INSTANCE

PLACE = "MENTOR_STREAM_ENDING"
"""Names the file: set by whoever starts ranks, and for those of several machines by whoever starts those."""
_STARTER = "MENTOR_STREAM_ENDING_STARTER"
_GONE = re.compile(r"closed by peer|reset by peer|broken pipe|remote process|ncclRemoteError", re.IGNORECASE)
"""How gloo and NCCL say it."""


class OfAll(RuntimeError):
    """What all ranks raise together: rank 0 tells why."""


class Told(msgspec.Struct, frozen=True):
    """What a rank has ended of."""

    code: int
    lines: list[str]
    starter: str
    """Who started it."""


@contextmanager
def as_rank(foreseen: Callable[[Exception], Exit | None] = exits.of_component) -> Generator[None]:
    """The whole work of a rank. Where it fails as is foreseen this is SystemExit with the exit code, told or,
    where nobody asked to be, said here."""
    try:
        yield
    except Exception as error:
        if end := foreseen(error):
            _leave(end)
        if not _is_consequence(error):
            raise
        sys.exit(1)


@contextmanager
def expected() -> Generator[None]:
    """Ranks that are started within the block tell what they end of."""
    own = {name: os.environ.get(name) for name in (PLACE, _STARTER)}
    with tempfile.TemporaryDirectory(prefix="mentor-stream-") as directory:
        os.environ.setdefault(PLACE, f"{directory}/ending")
        os.environ[_STARTER] = INSTANCE
        try:
            yield
        finally:
            for name, value in own.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def told() -> Told | None:
    """What the first rank to do so has told."""
    place = os.environ.get(PLACE)
    if place is None or not Path(place).exists():
        return None
    return msgspec.json.decode(Path(place).read_bytes(), type=Told)


def say(told: Told) -> None:
    """On behalf of a rank, if it was started here."""
    if told.starter == INSTANCE:
        sys.stderr.write("".join(f"{line}\n" for line in told.lines))


def _leave(end: Exit) -> NoReturn:
    if place := os.environ.get(PLACE):
        with suppress(OSError):  # it is said all the same, if more than once: the disk may be what is full
            _tell(Path(place), Told(end.code, end.lines, os.environ.get(_STARTER, "")))
            sys.exit(end.code)
    exits.say_and_leave(end)


def _tell(place: Path, what: Told) -> None:
    """Whole or not at all, and the first one only."""
    draft = place.with_name(f".{place.name}-{INSTANCE}")
    try:
        draft.write_bytes(msgspec.json.encode(what))
        with suppress(FileExistsError):
            os.link(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def _is_consequence(error: Exception) -> bool:
    """Whether another rank tells, or has told, why this one ends, too."""
    rank = int(os.environ.get("RANK", "0"))
    if isinstance(error, OfAll):
        return rank > 0
    if not isinstance(error, RuntimeError) or not _GONE.search(str(error)):
        return False
    if told() is None:
        cause = " ".join(str(error).split())
        sys.stderr.write(f"trainer: rank {rank} has lost another, which says why or was killed: {cause}\n")
    return True
