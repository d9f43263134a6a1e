"""A component as a process: the event loop, and how it is asked to stop.

SIGTERM, SIGINT and the end of a supervising parent all mean: finish what must not be lost, then leave.
Exit code 0 means that the work is over; a process that was asked to stop says so with 128 + signal.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

PARENT_PIPE = "MENTOR_STREAM_PARENT_PIPE"
"""Set by the supervisor: standard input is a pipe whose end means that the parent is gone."""


def serve(main: Callable[[], Awaitable[None]]) -> None:
    """Run `main` under trio until it returns.

    Asked to stop, cancel it and raise SystemExit(128 + signal), SIGHUP standing for the parent's end:
    whoever watches over the process can then tell "stopped" from "finished".
    """
    stopped_by = anyio.run(_until_stopped, main, backend="trio")
    if stopped_by is not None:
        sys.exit(128 + stopped_by)


async def _until_stopped(main: Callable[[], Awaitable[None]]) -> int | None:
    stopped_by: list[int] = []
    async with anyio.create_task_group() as tasks:

        def stop(reason: int) -> None:
            stopped_by.append(reason)
            tasks.cancel_scope.cancel()

        # Before `main` may block the loop with its imports: a signal in the middle of them must not be lost.
        await tasks.start(_stop_on_signal, stop)
        if os.environ.get(PARENT_PIPE):
            tasks.start_soon(_stop_with_parent, stop)
        await main()
        tasks.cancel_scope.cancel()
    return stopped_by[0] if stopped_by else None


async def _stop_on_signal(
    stop: Callable[[int], None], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for received in signals:
            stop(received)
            return


async def _stop_with_parent(stop: Callable[[int], None]) -> None:
    await anyio.wait_readable(0)
    if os.read(0, 1) == b"":
        stop(signal.SIGHUP)
