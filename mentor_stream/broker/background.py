"""A task beside an `async with` body, without turning the exceptions of either into groups."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio


@asynccontextmanager
async def beside(
    task: Callable[[], Awaitable[None]], stop: Callable[[], None] = lambda: None
) -> AsyncGenerator[None]:
    """Run `task` while the body runs; behind the body, `stop` and cancel it and wait for it.

    An exception of the task cancels the body and comes out instead. What each raised comes out as it is,
    so that `except BrokerError` around a consumer means what it says.
    """
    failures: list[Exception] = []

    async def guarded() -> None:
        try:
            await task()
        except Exception as error:
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guarded)
        try:
            yield
        except Exception as error:
            failures.append(error)
        finally:
            stop()
            tasks.cancel_scope.cancel()
    if len(failures) > 1:
        raise ExceptionGroup("the body and the task beside it both failed", failures)
    if failures:
        raise failures[0]
