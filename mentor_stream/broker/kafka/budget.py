"""How many bytes may be under way at once."""

import anyio


class ByteBudget:
    """Bytes that may be under way. Who comes first goes first; a message above the bound goes alone."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.used = 0
        self._first_in_line = anyio.Lock()
        self._freed = anyio.Event()

    async def take(self, size: int) -> None:
        """Wait until `size` more bytes fit."""
        async with self._first_in_line:
            while self.used and self.used + size > self.bound:
                self._freed = anyio.Event()
                await self._freed.wait()
            self.used += size

    def give(self, size: int) -> None:
        """Those bytes have arrived, or never will."""
        self.used -= size
        self._freed.set()
