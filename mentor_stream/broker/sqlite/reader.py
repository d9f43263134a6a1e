"""Reads partitions by offset, outside any group."""

from collections.abc import AsyncIterator, Iterable

import anyio

from mentor_stream.broker.base import Message
from mentor_stream.broker.sqlite.database import Database
from mentor_stream.broker.sqlite.lane import Cursor, Lane
from mentor_stream.broker.sqlite.watch import Signal


class SqliteReader:
    """See broker.base.Reader."""

    def __init__(self, database: Database, cursors: Iterable[Cursor], *, follow: bool, prefetch: int) -> None:
        self._database, self._follow = database, follow
        self._lane = Lane(prefetch)
        self._lane.assign(cursors)
        self._turn = anyio.Lock()
        self._news = Signal()

    @property
    def skipped(self) -> int:
        """Messages that were gone when their turn came."""
        return 0

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        async with self._turn:
            while True:
                if self._lane.hungry:
                    await self._lane.fetch(self._database)
                if self._lane.waiting:
                    message = self._lane.next()
                    self._lane.done(message)
                    return message
                if not self._follow:
                    raise StopAsyncIteration
                await self._news.wait()

    def changed(self) -> None:
        """Something was written to the file."""
        self._lane.stale = True
        self._news.give()
