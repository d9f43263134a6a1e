"""Time to end what is half written when its process is asked to stop."""

import math
from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Grace:
    """Blocks that a cancellation from outside does not cut short at once, but after some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._open: set[anyio.CancelScope] = set()
        self._deadline = math.inf

    @contextmanager
    def block(self) -> Generator[None]:
        """One of them."""
        with anyio.CancelScope(deadline=self._deadline, shield=True) as scope:
            self._open.add(scope)
            try:
                yield
            finally:
                self._open.discard(scope)

    async def watch(self) -> None:
        """Run beside them, under what is cancelled: the seconds count from then on."""
        try:
            await anyio.sleep_forever()
        finally:
            self._deadline = anyio.current_time() + self._seconds
            for scope in self._open:
                scope.deadline = self._deadline
