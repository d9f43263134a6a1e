"""What the trainer says of itself: a Metric per step and now and then, a line in its log when it waits."""

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
from trainer.intake.starvation import arrived
from trainer.intake.stream import TrainerStream
from trainer.learning.steps import Step

log = logging.getLogger(__name__)

STARVED_SECONDS = 30.0
"""Without a batch, whatever else arrives, after which it is said what is waited for."""


class Report:
    """Collects what happens between two steps and publishes it."""

    def __init__(self, stream: TrainerStream) -> None:
        self._stream = stream
        self._before = Standing()
        """As things stood when it was last said what is waited for, or a batch was trained."""
        self._waited = self._stepped = 0.0
        self._written: dict[str, float] = {}
        self._last_news = self._free_since = time.monotonic()
        self._learning = False

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
        self._learning = True
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
        """Say what is waited for, once in STARVED_SECONDS without a batch."""
        now = time.monotonic()
        if now - self._last_news < STARVED_SECONDS:
            return
        came = arrived(self._before, standing)
        self._last_news, self._before = now, standing
        over = standing.waiting - standing.placed
        log.info(
            "no batch for %.0f s: the next batch has %d of %d groups%s; %s",
            now - self._free_since,
            standing.placed,
            batch_groups,
            f", {over} guided ones are over their share" if over else "",
            came.words if came.groups else self._reason(),
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
            **_totals(standing),
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
        self._waited, self._written, self._before = 0.0, {}, standing
        self._last_news = self._free_since = time.monotonic()
        self._learning = False

    def present(self, standing: Standing) -> dict[str, float]:
        """What holds between two steps: what has arrived, and for how long a batch has been waited for."""
        waiting = 0.0 if self._learning else time.monotonic() - self._free_since
        return _totals(standing) | {"waiting_seconds": waiting, "placed_groups": standing.placed}


@contextmanager
def _turning() -> Generator[Callable[[], float]]:
    """A part of training, which tells that it goes on; the seconds it has taken so far."""
    began = time.monotonic()
    HEALTH.turns(TRAINING)
    yield lambda: time.monotonic() - began
    HEALTH.turns(TRAINING)


def _totals(standing: Standing) -> dict[str, float]:
    """Over the whole run, but for those that wait."""
    consumed = standing.consumed
    return {
        "generated_tokens": consumed.tokens,
        "pending_groups": standing.waiting,
        "stale_groups": consumed.stale,
        "surplus_groups": standing.surplus,
        "plain_groups": consumed.resolved,
        "collapsed_groups": consumed.collapsed,
        "guided_groups": consumed.guided,
        "rescued_groups": consumed.rescued,
    }


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
