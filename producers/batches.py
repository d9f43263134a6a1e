"""A stream of single items taken in batches: what is there now, at least one."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

T = TypeVar("T")

LINGER_SECONDS = 0.02
"""How long a batch that is not full waits for one more item."""


class Batches(Generic[T]):
    """Takes batches from a source that cannot be asked what it has, nor be interrupted while it waits."""

    def __init__(self, items: MemoryObjectReceiveStream[T]) -> None:
        self._items = items

    async def take(self, limit: int) -> list[T]:
        """Between one item, waited for, and `limit` of them, in order."""
        batch = [await self._items.receive()]
        with anyio.move_on_after(LINGER_SECONDS):
            while len(batch) < limit:
                batch.append(await self._items.receive())
        return batch


@asynccontextmanager
async def batched(source: AsyncIterator[T]) -> AsyncGenerator[Batches[T]]:
    """Batches of the source's items. One item at most is read ahead."""
    send, receive = anyio.create_memory_object_stream[T](0)
    async with receive, anyio.create_task_group() as tasks:
        tasks.start_soon(_pump, source, send)
        yield Batches(receive)
        tasks.cancel_scope.cancel()


async def _pump(source: AsyncIterator[T], out: MemoryObjectSendStream[T]) -> None:
    async with out:
        async for item in source:
            await out.send(item)
