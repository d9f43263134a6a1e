"""One connection to the stream's file: its blocking calls leave the event loop, its failures get words."""

import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from mentor_stream.broker.base import BrokerError, BrokerUnavailable
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.schema import LOCK_SECONDS, open_file

T = TypeVar("T")


class Locked(BrokerUnavailable):
    """Another process has held the file's write lock for as long as may be waited for it."""


class Database:
    """A connection, used by one worker thread at a time. A call that has begun is never abandoned."""

    def __init__(self, location: Location, *, durable: bool) -> None:
        self.location = location
        self._durable = durable
        self._limiter = anyio.CapacityLimiter(1)
        self._connection: sqlite3.Connection

    async def open(self) -> None:
        """Connect. Raises BrokerError, BrokerUnavailable."""
        self._connection = await self._in_thread(partial(open_file, self.location, durable=self._durable))

    async def close(self) -> None:
        """Disconnect, also when cancelled."""
        with anyio.CancelScope(shield=True):
            await self._in_thread(self._connection.close)

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` outside any transaction."""
        return await self._in_thread(partial(work, self._connection))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""
        return await self._in_thread(partial(self._transaction, "BEGIN", work))

    async def write(self, work: Callable[[sqlite3.Connection], T], *, since: float | None = None) -> T:
        """Run `work` as the only writer; all of it is kept or nothing.

        Raises Locked when the time-out, from `since` (of time.monotonic, by default now), is over.
        """
        return await self._in_thread(partial(self._transaction, "BEGIN IMMEDIATE", work), since)

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        self._connection.execute(begin)
        try:
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return result

    def _patiently(self, work: Callable[[], T], since: float | None) -> T:
        """Repeat `work`, which is all or nothing, while another connection holds the lock it needs.

        SQLite's own waiting backs off to 100 ms: next to busy writers a member would miss its lease.
        """
        deadline = (time.monotonic() if since is None else since) + self.location.timeout
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(LOCK_SECONDS / 8)

    async def _in_thread(self, work: Callable[[], T], since: float | None = None) -> T:
        try:
            return await to_thread.run_sync(
                partial(self._patiently, work, since), limiter=self._limiter, abandon_on_cancel=False
            )
        except (sqlite3.Error, OSError) as error:
            raise explained(error, self.location) from error


@asynccontextmanager
async def opened(location: Location, *, durable: bool) -> AsyncGenerator[Database]:
    """A connection of one's own. One that is not `durable` may lose its last writes in a power failure."""
    database = Database(location, durable=durable)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def explained(error: Exception, location: Location) -> Exception:
    """What an error of SQLite or of the system means to a user; a programming error as it is."""
    path, code = location.path, getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Locked(
                f"{path}: another process has held its write lock for {location.timeout:g} s. Look for a "
                "stopped process that has it open, or raise timeout= in run.broker"
            )
        case sqlite3.SQLITE_FULL:
            return BrokerUnavailable(
                f"{path}: the disk is full. Make room and start again; nothing acknowledged is lost"
            )
        case sqlite3.SQLITE_IOERR:
            return BrokerUnavailable(f"{path}: the disk failed ({error}). Check it, then start again")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return BrokerError(
                f"{path} is damaged or no stream ({error}). Restore it from a copy, or let run.broker "
                "name a new file"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return BrokerError(
                f"{path} cannot be opened for writing ({error}). Check the path and its rights"
            )
        case sqlite3.SQLITE_ERROR if "no such" in str(error):
            return BrokerError(f"{path} is no whole stream ({error}): let run.broker name another file")
        case None if isinstance(error, OSError):
            return BrokerError(f"{path} cannot be used: {error}")
        case _:
            return error
