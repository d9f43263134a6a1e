"""What one mentor process has done so far, as its metric: how cases ended."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from schemas import Outcome

_TAUGHT = (Outcome.HINT, Outcome.FALLBACK, Outcome.SILENT)


class Tally:
    """How cases ended, and how long those took that were worked on."""

    def __init__(self) -> None:
        self._outcomes: Counter[Outcome] = Counter()
        self._in_flight = 0
        self._seconds = 0.0

    @contextmanager
    def working(self) -> Generator[None]:
        """Counts a case as in flight."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def count(self, outcome: Outcome, seconds: float) -> None:
        """A case is over."""
        self._outcomes[outcome] += 1
        if outcome in _TAUGHT:
            self._seconds += seconds

    def values(self) -> dict[str, float]:
        """The values of a Metric; the mean time only when there is a case behind it."""
        taught = sum(self._outcomes[outcome] for outcome in _TAUGHT)
        counts = {
            "cases": self._outcomes.total(),
            "hints": self._outcomes[Outcome.HINT],
            "fallbacks": self._outcomes[Outcome.FALLBACK],
            "silent": self._outcomes[Outcome.SILENT],
            "stale": self._outcomes[Outcome.STALE],
            "exhausted": self._outcomes[Outcome.EXHAUSTED],
            "in_flight": self._in_flight,
        }
        return counts | ({"seconds_mean": self._seconds / taught} if taught else {})
