"""How a process ends when something is wrong: what it says, a line for each cause, and its exit code."""

import errno
import os
import sys
from typing import NamedTuple, NoReturn

from mentor_stream import legible
from mentor_stream.broker.base import BrokerError, OffsetGap
from mentor_stream.causes import causes
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError

MISTAKE = 2
"""Somebody must mend the config, the data or the stream first: started again it would end so again."""
PASSING = 75
"""A broker, a store or a disk may be well again when it is started again: EX_TEMPFAIL of sysexits.h."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Exit(NamedTuple):
    """An end that was foreseen."""

    code: int
    lines: list[str]


def of_component(error: Exception) -> Exit | None:
    """That of a component, which is started again unless that has no use. None: its traceback is wanted."""
    found = causes(error)
    return _said(PASSING, found) if all(map(_passes, found)) else of_command(error)


def of_command(error: Exception) -> Exit | None:
    """That of a command that somebody waits for. None: its traceback is wanted."""
    found = causes(error)
    return _said(MISTAKE, found) if all(map(_is_users, found)) else None


def say_and_leave(end: Exit) -> NoReturn:
    """Raises SystemExit."""
    if sys.stderr is not None:  # or whoever started us has closed it
        sys.stderr.write("".join(f"{line}\n" for line in end.lines))
    sys.exit(end.code)


def _said(code: int, found: list[Exception]) -> Exit:
    texts = (f"mentor-stream: {_words(cause)}" for cause in found)
    return Exit(code, [legible.line(line) for text in texts for line in text.split("\n")])


def _words(cause: Exception) -> str:
    if _is_output(cause):
        return f"what it prints cannot be written: {os.strerror(errno.ENOSPC)}"
    return str(cause)


def _passes(cause: Exception) -> bool:
    if isinstance(cause, OffsetGap):  # it stays until somebody decides about it
        return False
    full = isinstance(cause, OSError) and cause.errno in _FULL
    return full or isinstance(cause, BrokerError | SnapshotError)


def _is_users(cause: Exception) -> bool:
    return _is_output(cause) or isinstance(cause, ConfigError | BrokerError | SnapshotError)


def _is_output(cause: Exception) -> bool:
    """Whether the disk behind the output is full."""
    return isinstance(cause, OSError) and cause.errno == errno.ENOSPC and cause.filename is None
