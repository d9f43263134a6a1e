"""Notices within milliseconds that any process wrote to the file."""

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio

from mentor_stream.broker.base import BrokerError
from mentor_stream.broker.sqlite.database import Database

POLL_SECONDS = 0.01
LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How a log (-wal) begins that holds anything, in either order of bytes."""


class Signal:
    """Wakes one waiting task; a signal given while nobody waits is not lost."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._given = False

    def give(self) -> None:
        """Let the task go on that waits, or the next one that does."""
        if not self._given:  # most are given for nothing, and setting an event costs more than a message
            self._given = True
            self._event.set()

    async def wait(self) -> None:
        """Wait for a signal and use it up."""
        await self._event.wait()
        self._event, self._given = anyio.Event(), False


class Watch:
    """Tells its listeners about changes. SQLite wakes nobody, so a thread looks 100 times a second.

    The thread stays inside one call until something changed: looking costs the event loop nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: list[Callable[[], None]] = []
        self._stopped = threading.Event()
        self._seen = -1
        self._file = database.location.path
        self._log = self._file.with_name(f"{self._file.name}-wal")
        self._states = {self._file: _state(self._file), self._log: None}

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Generator[None]:
        """Call `listener` after each change."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def changed(self) -> None:
        """Tell everyone now; for changes of this process itself."""
        for listener in self._listeners:
            listener()

    def stop(self) -> None:
        """Make `run` return."""
        self._stopped.set()

    async def run(self) -> None:
        """Watch until stopped. Raises BrokerError when the file was taken away."""
        while not self._stopped.is_set():
            await self._database.call(self._until_changed)
            self.changed()

    def _until_changed(self, connection: sqlite3.Connection) -> None:
        while True:
            self.check()
            version = _version(connection)
            if version != self._seen or self._stopped.wait(POLL_SECONDS):
                break
        self._seen = version

    def check(self) -> None:
        """Raises BrokerError when the file was taken away. Not from two threads at once.

        An open file lives on without its name: processes would go on, each with a stream of its own.
        SQLite itself never empties the file, and leaves its log (-wal) there while we have it open.
        """
        for path, before in self._states.items():
            self._states[path] = now = _state(path)
            if before is None:
                continue
            emptied = path == self._file and before.size and now is not None and not now.size
            if now is None or now.identity != before.identity or emptied:
                raise _hurt(path, "removed, emptied or replaced")
        if not _is_log(self._log):
            raise _hurt(self._log, "written over by something else")


def _hurt(path: Path, how: str) -> BrokerError:
    return BrokerError(
        f"{path} was {how} while the run was using it. Put it back if you can: what it held is known nowhere "
        "else"
    )


def _is_log(path: Path) -> bool:
    """Whether it begins as SQLite's logs do, or has no beginning yet. Not whether all in it is sound."""
    try:
        with path.open("rb", buffering=0) as file:
            begin = file.read(len(LOG_MAGIC[0]))
    except FileNotFoundError:
        return True
    return not begin or begin in LOG_MAGIC


class _State(NamedTuple):
    """What is looked at of a file."""

    identity: tuple[int, int]
    size: int


def _state(path: Path) -> _State | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return _State((status.st_dev, status.st_ino), status.st_size)


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA data_version").fetchone()[0]
