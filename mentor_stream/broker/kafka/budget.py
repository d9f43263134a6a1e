"""How many bytes may be under way at once."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ByteBudget(Generic[T]):
    """Lets things go while their bytes fit. Who comes first goes first; what is above the bound goes alone.

    `go` is told when it is a thing's turn, and says whether it does go.
    """

    def __init__(self, bound: int, go: Callable[[T], bool]) -> None:
        self.bound, self.used = bound, 0
        self._go = go
        self._line: deque[tuple[T, int]] = deque()

    def add(self, thing: T, size: int) -> None:
        """It goes now, or when it is its turn."""
        if self._line or not self._fits(size):
            self._line.append((thing, size))
        elif self._go(thing):
            self.used += size

    def give(self, size: int) -> None:
        """Those bytes have arrived, or never will."""
        self.used -= size
        while self._line and self._fits(self._line[0][1]):
            thing, size = self._line.popleft()
            if self._go(thing):
                self.used += size

    def _fits(self, size: int) -> bool:
        return not self.used or self.used + size <= self.bound
