"""From other threads to the event loop, in batches: to wake the loop costs more than most of what is told."""

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio.lowlevel

T = TypeVar("T")


class Handover(Generic[T]):
    """`take` is called on the loop for everything that was put, in that order. Nobody waits for it."""

    def __init__(self, take: Callable[[T], None]) -> None:
        self._take = take
        self._waiting: deque[T] = deque()
        self._called = False
        token: Any = anyio.lowlevel.current_token().native_token
        self._call_on_loop = getattr(token, "run_sync_soon", None) or token.call_soon_threadsafe

    def put(self, item: T) -> None:
        """From any thread; never blocks."""
        self._waiting.append(item)
        # whoever reads False here after the loop has set it calls once too often, which does no harm
        if not self._called:
            self._called = True
            self._call_on_loop(self._deliver)

    def _deliver(self) -> None:
        self._called = False
        while self._waiting:
            self._take(self._waiting.popleft())
