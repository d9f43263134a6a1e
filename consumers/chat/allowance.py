"""How many tokens may be spent: in any hour, and in all. No I/O, no clock.

What is asked for is reserved first (the prompt and the longest reply), so that requests in flight together
do not exceed what is left; what it came to replaces the reservation.
"""

from collections import deque

HOUR = 3600.0
_GRAIN = 1.0
"""What is spent within a second is kept as one entry, which bounds their number."""


class Spent(Exception):
    """There is no allowance left for a request."""


class Allowance:
    """Tokens left to spend; None is no bound. Times are seconds on a clock that does not run backwards."""

    def __init__(
        self, per_hour: int | None = None, per_run: int | None = None, spent_so_far: int = 0
    ) -> None:
        self._per_hour, self._per_run = per_hour, per_run
        self._total = spent_so_far
        self._reserved = 0
        self._recent: deque[tuple[int, int]] = deque()
        self._in_hour = 0

    @property
    def bounded(self) -> bool:
        """Whether what was spent before this process began matters."""
        return self._per_run is not None

    def resume(self, spent: int) -> None:
        """Tokens that were spent before, by this run's earlier processes; they count in all."""
        self._total += spent

    def reserve(self, tokens: int, now: float) -> None:
        """Set tokens aside for a request. Raises Spent."""
        self._forget(now)
        for setting, bound, spent in (
            ("tokens_per_run", self._per_run, self._total),
            ("tokens_per_hour", self._per_hour, self._in_hour),
        ):
            if bound is not None and spent + self._reserved + tokens > bound:
                raise Spent(
                    f"{setting} is {bound}: {spent} tokens are spent, {self._reserved} reserved by requests "
                    f"in flight, and {tokens} may be needed"
                )
        self._reserved += tokens

    def settle(self, reserved: int, spent: int, now: float) -> None:
        """What a request came to, instead of what was reserved for it."""
        self._reserved -= reserved
        self._total += spent
        self._in_hour += spent
        second = int(now // _GRAIN)
        if self._recent and self._recent[-1][0] == second:
            spent += self._recent.pop()[1]
        self._recent.append((second, spent))

    def _forget(self, now: float) -> None:
        while self._recent and (self._recent[0][0] + 1) * _GRAIN <= now - HOUR:
            self._in_hour -= self._recent.popleft()[1]
