"""What one mentor process has done so far, as its metric: how cases ended and what that cost."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from consumers.effort import effort
from consumers.refusals import VERDICTS, refused
from mentor_stream.metrics.catalogue.mentor import CASE_SECONDS, CASE_TOKENS
from mentor_stream.metrics.readings import OWN as READINGS
from schemas import Diagnosis, Outcome

_TAUGHT = (Outcome.HINT, Outcome.FALLBACK, Outcome.SILENT)


class Tally:
    """How cases ended, what was spent on them, and how long those took that were worked on."""

    def __init__(self) -> None:
        self._outcomes: Counter[Outcome] = Counter()
        self._in_flight = 0
        self._seconds = self._cost = 0.0
        self._prompt_tokens = self._completion_tokens = 0
        self._refused: Counter[str] = Counter()
        self._leaks = self._refined = self._redrafted = self._failed_calls = 0

    @contextmanager
    def working(self) -> Generator[None]:
        """Counts a case as in flight."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def count(self, case: Diagnosis) -> None:
        """A case is over."""
        self._outcomes[case.outcome] += 1
        self._prompt_tokens += case.prompt_tokens
        self._completion_tokens += case.completion_tokens
        self._cost += case.cost
        spent = effort(case.calls)
        self._leaks += spent.leaks
        self._refined += spent.refined
        self._redrafted += spent.redrafted
        self._refused.update(refused(case.calls))
        self._failed_calls += sum(call.error is not None for call in case.calls)
        if case.outcome in _TAUGHT:
            self._seconds += case.seconds
            READINGS.observe(CASE_SECONDS, case.seconds)
            READINGS.observe(CASE_TOKENS, case.prompt_tokens + case.completion_tokens)

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
            "superseded": self._outcomes[Outcome.SUPERSEDED],
            "shed": self._outcomes[Outcome.SHED],
            "in_flight": self._in_flight,
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "cost": self._cost,
            "leaks": self._leaks,
            "refined": self._refined,
            "redrafted": self._redrafted,
            "failed_calls": self._failed_calls,
            **{f"refused_{verdict}": self._refused[verdict] for verdict in VERDICTS},
        }
        return counts | ({"seconds_mean": self._seconds / taught} if taught else {})
