"""Notices within milliseconds that any process wrote to the file."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from mentor_stream.broker.sqlite.database import Database

POLL_SECONDS = 0.01


class Signal:
    """Wakes one waiting task; a signal given while nobody waits is not lost."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def give(self) -> None:
        """Let the task go on that waits, or the next one that does."""
        self._event.set()

    async def wait(self) -> None:
        """Wait for a signal and use it up."""
        await self._event.wait()
        self._event = anyio.Event()


class Watch:
    """Tells its listeners about changes. SQLite wakes nobody, so a thread looks 100 times a second.

    The thread stays inside one call until something changed: looking costs the event loop nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: list[Callable[[], None]] = []
        self._stopped = threading.Event()
        self._seen = -1

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
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
        """Watch until stopped."""
        while not self._stopped.is_set():
            await self._database.call(self._until_changed)
            self.changed()

    def _until_changed(self, connection: sqlite3.Connection) -> None:
        while (version := _version(connection)) == self._seen and not self._stopped.wait(POLL_SECONDS):
            pass
        self._seen = version


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA data_version").fetchone()[0]
