"""What the trainer says of itself: one Metric per step, and a line in its log when it has nothing to do."""

import logging
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from mentor_stream.broker import BrokerError
from mentor_stream.metrics.catalogue.trainer import CHECKPOINTED_AT, RELEASED_AT, WAITING_SECONDS
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.health import TRAINING
from mentor_stream.metrics.readings import OWN as READINGS
from trainer.intake.preparation import Batch, Standing
from trainer.intake.stream import TrainerStream
from trainer.learning.steps import Step

log = logging.getLogger(__name__)

STARVED_SECONDS = 30.0


class Report:
    """Collects what happens between two steps and publishes it."""

    def __init__(self, stream: TrainerStream) -> None:
        self._stream = stream
        self._heard = 0
        self._waited = self._stepped = 0.0
        self._written: dict[str, float] = {}
        self._last_news = time.monotonic()

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Around time spent without groups."""
        with _turning() as took:
            yield
        self._waited += took()
        READINGS.add(WAITING_SECONDS, took())

    @contextmanager
    def stepping(self) -> Generator[None]:
        """Around the optimization step."""
        with _turning() as took:
            yield
        self._stepped = took()

    @contextmanager
    def saving(self) -> Generator[None]:
        """Around writing a checkpoint."""
        with _turning() as took:
            yield
        self._written["checkpoint_seconds"] = took()
        READINGS.set(CHECKPOINTED_AT, time.time())

    @contextmanager
    def releasing(self) -> Generator[None]:
        """Around writing and announcing a snapshot."""
        with _turning() as took:
            yield
        self._written["release_seconds"] = took()
        READINGS.set(RELEASED_AT, time.time())

    def starved(self, standing: Standing, batch_groups: int) -> None:
        """Say what is waited for, at most once in STARVED_SECONDS."""
        now = time.monotonic()
        if standing.read != self._heard:
            self._heard, self._last_news = standing.read, now
        if now - self._last_news < STARVED_SECONDS:
            return
        self._last_news = now
        consumed = standing.consumed
        log.info(
            "no group for %.0f s: the next batch has %d of %d, %d guided ones are over their share; "
            "%d plain groups came back, %d of them collapsed, %d were guided; %s",
            STARVED_SECONDS,
            standing.placed,
            batch_groups,
            standing.waiting - standing.placed,
            consumed.resolved,
            consumed.collapsed,
            consumed.guided,
            self._reason(),
        )

    def _reason(self) -> str:
        """Why nothing comes. A broker that is away is waited for, so it is no error here."""
        try:
            return self._stream.situation().reason
        except BrokerError as error:
            return f"why is not known: {error}"

    def stepped(self, step: int, outcome: Step | None, batch: Batch) -> None:
        """Publish what the batch did and what arrived since the one before."""
        standing = batch.standing
        values: dict[str, float] = {
            "step": step,
            "generated_tokens": standing.consumed.tokens,
            "pending_groups": standing.waiting,
            "stale_groups": standing.consumed.stale,
            "surplus_groups": standing.surplus,
            "step_seconds": self._stepped,
            "wait_seconds": self._waited,
            **self._written,
            **batch.tally.values(),
            **_outcome_values(outcome),
            **_age_values(batch.ages),
        }
        self._stream.report(values, standing.version)
        log.info(
            "version %d: %s",
            standing.version,
            " ".join(f"{name} {value:.4g}" for name, value in values.items()),
        )
        self._waited, self._written, self._last_news = 0.0, {}, time.monotonic()


@contextmanager
def _turning() -> Generator[Callable[[], float]]:
    """A part of training, which tells that it goes on; the seconds it has taken so far."""
    began = time.monotonic()
    HEALTH.turns(TRAINING)
    yield lambda: time.monotonic() - began
    HEALTH.turns(TRAINING)


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
