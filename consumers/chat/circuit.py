"""The health of one endpoint: when it rests, and who tries it first afterwards. No I/O, no clock.

A circuit breaker: three failures in a row open it for a pause that doubles from one rest to the next; after
the pause one request is the trial that decides.
"""

from enum import Enum

FAILURES_IN_A_ROW = 3
"""One failure among many answers is a request's bad luck and no reason to keep the others waiting."""


class Health(Enum):
    """Whether an endpoint may be asked."""

    AWAKE = "awake"
    RESTING = "resting"
    DUE = "due"
    """Its rest is over: the next request is its trial."""
    ON_TRIAL = "on trial"


class Circuit:
    """Of one endpoint. Times are seconds on any clock that does not run backwards."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self._failures = 0
        self._rests = 0
        self._trial = False
        self._opened = float("-inf")
        self.wakes = float("-inf")
        """When the rest is over, or was."""

    def health(self, now: float) -> Health:
        """Whether the endpoint may be asked."""
        if not self._rests:
            return Health.AWAKE
        if now < self.wakes:
            return Health.RESTING
        return Health.ON_TRIAL if self._trial else Health.DUE

    def begin(self, now: float) -> bool:
        """A request is sent; whether it is the trial."""
        if self.health(now) is not Health.DUE:
            return False
        self._trial = True
        return True

    def abandon(self) -> None:
        """The trial ended without saying anything about the endpoint."""
        self._trial = False

    def succeed(self) -> None:
        """The endpoint answered, whatever it said."""
        self._failures = self._rests = 0
        self._trial = False

    def fail(self, now: float, began: float, *, rest: float | None = None) -> None:
        """A request that was sent at `began` failed; `rest`, if one is enough, says for how long at least.

        Of many requests that fail together only the first opens the circuit: those sent before it opened
        have nothing new to tell.
        """
        if began < self._opened:
            return
        self._failures += 1
        if rest is not None or self._rests or self._failures >= FAILURES_IN_A_ROW:
            self._rests += 1
            pause = min(self._longest, self._first * 2 ** min(self._rests - 1, 30))
            self._opened, self.wakes = now, now + max(pause, rest or 0.0)
        self._trial = False
