"""How a process ends when something is wrong: what it says, a line for each cause, and its exit code."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from mentor_stream import legible
from mentor_stream.broker.base import BrokerError, BrokerUnavailable
from mentor_stream.causes import causes
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError, StoreError

MISTAKE = 2
"""Somebody must mend the config, the data or the stream first: started again it would end so again."""
PASSING = 75
"""A broker, a store or a disk may be well again when it is started again: EX_TEMPFAIL of sysexits.h."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORESEEN = (ConfigError, BrokerError, SnapshotError)


class Exit(NamedTuple):
    """An end that was foreseen."""

    code: int
    lines: list[str]


def of_component(error: Exception) -> Exit | None:
    """That of a component, which finds another snapshot where one is gone. None: its traceback is wanted."""
    return _of(error, lambda cause: _passes(cause) or isinstance(cause, SnapshotError))


def of_command(error: Exception) -> Exit | None:
    """That of a command, which was told which snapshot to take. None: its traceback is wanted."""
    return _of(error, _passes)


def say_and_leave(end: Exit) -> NoReturn:
    """Raises SystemExit."""
    if sys.stderr is not None:  # or whoever started us has closed it
        sys.stderr.write("".join(f"{line}\n" for line in end.lines))
    sys.exit(end.code)


def _of(error: Exception, passes: Callable[[Exception], bool]) -> Exit | None:
    """One mistake among the causes comes back, whatever passes beside it."""
    found = causes(error)
    if not all(isinstance(cause, _FORESEEN) or _is_full(cause) for cause in found):
        return None
    texts = (f"mentor-stream: {_words(cause)}" for cause in found)
    code = PASSING if all(map(passes, found)) else MISTAKE
    return Exit(code, [legible.line(line) for text in texts for line in text.split("\n")])


def _words(cause: Exception) -> str:
    if isinstance(cause, OSError) and cause.filename is None:  # only of what is open: the output, for one
        return f"what it prints cannot be written: {os.strerror(errno.ENOSPC)}"
    return str(cause)


def _passes(cause: Exception) -> bool:
    """Whoever found it, and whatever was made of it on the way."""
    return any(isinstance(e, BrokerUnavailable | StoreError) or _is_full(e) for e in _made_of(cause))


def _made_of(error: Exception) -> Iterator[Exception]:
    """An error, and those that it is the consequence of."""
    yield error
    if isinstance(error.__cause__, Exception):
        for cause in causes(error.__cause__):
            yield from _made_of(cause)


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in _FULL
