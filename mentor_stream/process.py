"""A component as a process: the event loop, and how it is asked to stop.

SIGTERM, SIGINT and the end of a supervising parent all mean: finish what must not be lost, then leave.
Exit code 0 means that the work is over; a process that was asked to stop says so with 128 + signal.
"""

import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from anyio.abc import TaskStatus

from mentor_stream.config import Config
from mentor_stream.metrics import listening, server
from mentor_stream.metrics.catalogue import shared
from mentor_stream.metrics.health import BROKER, LOOP
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.readings import OWN as READINGS

PARENT_PIPE = "MENTOR_STREAM_PARENT_PIPE"
"""Set by the supervisor: standard input is a pipe whose end means that the parent is gone."""
TURN_SECONDS = 1.0
OURS = ("mentor_stream", "producers", "consumers")
"""The loggers of which also what goes well is told; of libraries only warnings are."""

log = logging.getLogger(__name__)


def work(component: str, main: Callable[[Config], Awaitable[None]], config: Config) -> None:
    """`serve` a component's `main`, and its metrics and health beside it. Raises ConfigError."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    HEALTH.watch(LOOP, listening.settings(config).stuck_after_seconds)
    HEALTH.needs(BROKER)
    with server.serving(config, component):
        try:
            serve(partial(main, config))
        finally:
            HEALTH.rests(LOOP)


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
            log.info("asked to stop (%s)", signal.Signals(reason).name)
            stopped_by.append(reason)
            tasks.cancel_scope.cancel()

        # Before `main` may block the loop with its imports: a signal in the middle of them must not be lost.
        await tasks.start(_stop_on_signal, stop)
        tasks.start_soon(_turn)
        if os.environ.get(PARENT_PIPE):
            tasks.start_soon(_stop_with_parent, stop)
        await main()
        tasks.cancel_scope.cancel()
    return stopped_by[0] if stopped_by else None


async def _turn() -> None:
    """Tell that the event loop turns, and how late it was to."""
    while True:
        due = anyio.current_time() + TURN_SECONDS
        await anyio.sleep_until(due)
        READINGS.set(shared.LOOP_LATE, anyio.current_time() - due)
        HEALTH.turns(LOOP)


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
