"""How many bytes may be under way at once."""

import anyio


class ByteBudget:
    """Bytes that may be under way. Who comes first goes first; a message above the bound goes alone."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.used = 0
        self._waiting = 0
        self._first_in_line = anyio.Lock()
        self._freed = anyio.Event()

    async def take(self, size: int) -> None:
        """Wait until `size` more bytes fit."""
        if self._waiting == 0 and self._fits(size):
            self.used += size  # at once: a lock costs a round through the event loop
            return
        self._waiting += 1
        try:
            async with self._first_in_line:
                while not self._fits(size):
                    self._freed = anyio.Event()
                    await self._freed.wait()
                self.used += size
        finally:
            self._waiting -= 1

    def give(self, size: int) -> None:
        """Those bytes have arrived, or never will."""
        self.used -= size
        self._freed.set()

    def _fits(self, size: int) -> bool:
        return not self.used or self.used + size <= self.bound
