"""Keeps the event loop's other tasks from waiting for one that always has something to hand out."""

import time

from anyio.lowlevel import checkpoint

MOST_SECONDS = 0.001


class Pace:
    """Yields now and then: to do so for every message would cost more than the message."""

    def __init__(self) -> None:
        self._yielded = 0.0

    async def keep(self) -> None:
        """Let the others run if they have not for a while."""
        if time.monotonic() > self._yielded + MOST_SECONDS:
            await checkpoint()
            self._yielded = time.monotonic()
