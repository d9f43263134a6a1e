"""What the trainer says of itself: one Metric per step, and a line in its log when it has nothing to do."""

import logging
import math
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from mentor_stream.broker import BrokerError
from schemas import Group
from trainer.intake.batches import Arrivals
from trainer.intake.stream import TrainerStream
from trainer.intake.tally import Tally
from trainer.learning.steps import Step

log = logging.getLogger(__name__)

STARVED_SECONDS = 30.0


def ages(batch: Sequence[Group], version: int) -> list[int]:
    """How many versions old the oldest token of each group is; groups without tokens have no age."""
    return [max(0, version - g.oldest_version) for g in batch if g.completion_tokens]


class Report:
    """Collects what happens between two steps and publishes it."""

    def __init__(self, stream: TrainerStream) -> None:
        self._stream = stream
        self._tally = Tally()
        self._waited = self._stepped = 0.0
        self._last_news = time.monotonic()

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Around time spent without groups."""
        started = time.monotonic()
        yield
        self._waited += time.monotonic() - started

    @contextmanager
    def stepping(self) -> Generator[None]:
        """Around the optimization step."""
        started = time.monotonic()
        yield
        self._stepped = time.monotonic() - started

    def arrived(self, group: Group, *, collapsed: bool) -> None:
        """Count a new group."""
        self._tally.add(group, collapsed=collapsed)
        self._last_news = time.monotonic()

    def starved(self, arrivals: Arrivals) -> None:
        """Say what is waited for, at most once in STARVED_SECONDS."""
        if time.monotonic() - self._last_news < STARVED_SECONDS:
            return
        self._last_news = time.monotonic()
        booked = arrivals.booked
        log.info(
            "no group for %.0f s: the next batch has %d of %d, %d guided ones are over their share; "
            "%d plain groups came back, %d of them collapsed, %d were guided; %s",
            STARVED_SECONDS,
            arrivals.placed,
            arrivals.rule.batch_groups,
            arrivals.waiting - arrivals.placed,
            booked.resolved,
            booked.collapsed,
            booked.guided,
            self._reason(),
        )

    def _reason(self) -> str:
        """Why nothing comes. A broker that is away is waited for, so it is no error here."""
        try:
            return self._stream.situation().reason
        except BrokerError as error:
            return f"why is not known: {error}"

    def stepped(
        self, step: int, outcome: Step | None, ages_seen: Sequence[int], arrivals: Arrivals, version: int
    ) -> None:
        """Publish what the batch did and what arrived since the one before."""
        booked = arrivals.booked
        values: dict[str, float] = {
            "step": step,
            "generated_tokens": booked.tokens,
            "pending_groups": arrivals.waiting,
            "stale_groups": booked.stale,
            "surplus_groups": arrivals.surplus,
            "step_seconds": self._stepped,
            "wait_seconds": self._waited,
            **self._tally.values(),
            **_outcome_values(outcome),
            **_age_values(ages_seen),
        }
        self._stream.report(values, version)
        log.info("version %d: %s", version, " ".join(f"{name} {value:.4g}" for name, value in values.items()))
        self._tally, self._waited = Tally(), 0.0


def _outcome_values(outcome: Step | None) -> dict[str, float]:
    """Every field of the step under its own name, but what was not measured or is no number."""
    values = {} if outcome is None else asdict(outcome)
    return {
        name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)
    }


def _age_values(ages_seen: Sequence[int]) -> dict[str, float]:
    if not ages_seen:
        return {}
    return {"staleness_mean": sum(ages_seen) / len(ages_seen), "staleness_max": max(ages_seen)}
