"""A component as a process: the event loop, and how it is asked to stop.

SIGTERM, SIGINT and the end of a supervising parent all mean: finish what must not be lost, then leave.
"""

import os
import signal
from collections.abc import Awaitable, Callable

import anyio
import anyio.abc

PARENT_PIPE = "MENTOR_STREAM_PARENT_PIPE"
"""Set by the supervisor: standard input is a pipe whose end means that the parent is gone."""


def serve(main: Callable[[], Awaitable[None]]) -> None:
    """Run `main` under trio until it returns or the process is asked to stop, which cancels it."""
    anyio.run(_until_stopped, main, backend="trio")


async def _until_stopped(main: Callable[[], Awaitable[None]]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
        if os.environ.get(PARENT_PIPE):
            tasks.start_soon(_stop_with_parent, tasks.cancel_scope)
        await main()
        tasks.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _stop_with_parent(scope: anyio.CancelScope) -> None:
    await anyio.wait_readable(0)
    if os.read(0, 1) == b"":
        scope.cancel()
