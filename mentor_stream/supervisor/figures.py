"""The figures of a run at one moment, reduced from its metrics. What is shown of them is view/'s."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import schemas
from mentor_stream.config import RunConfig
from mentor_stream.metrics.rates import Report, total_rate

KEPT_POINTS = 120
"""Length of the kept curves: more than a terminal is wide."""
RATE_WINDOW_SECONDS = 300.0
"""What the time still to go is estimated from."""


class Accuracy(NamedTuple):
    """Accuracy of one policy version on the held-out questions."""

    policy_version: int
    tokens: float
    accuracy: float


class Step(NamedTuple):
    """What the trainer reported with one policy version."""

    version: int
    time: float
    values: Mapping[str, float]


@dataclass(frozen=True)
class Figures:
    """Everything the metrics of a run said so far that is worth a look."""

    run: str
    batch_groups: int
    max_tokens: int | None = None
    max_versions: int | None = None
    steps: tuple[Step, ...] = ()
    """The last versions trained, oldest first; one repeated after a resume replaces what it undid."""
    accuracies: tuple[Accuracy, ...] = ()
    """Held-out evaluations by policy version: the first and the last ones."""
    reports: Mapping[tuple[str, str], Report] = field(default_factory=dict[tuple[str, str], Report])
    """Latest report of every process of every other component, by component and instance."""

    @property
    def latest(self) -> Mapping[str, float]:
        """The newest value of everything the trainer reports."""
        merged: dict[str, float] = {}
        for step in self.steps:
            merged |= step.values
        return merged

    @property
    def version(self) -> int:
        """The newest policy version."""
        return self.steps[-1].version if self.steps else 0

    def curve(self, name: str) -> list[float]:
        """One trainer value over the kept steps, where it was measured."""
        return [step.values[name] for step in self.steps if name in step.values]

    def total(self, component: str, name: str) -> float:
        """A running total over all processes that the component has had."""
        return sum(r.values.get(name, 0.0) for (of, _), r in self.reports.items() if of == component)

    def rate(self, component: str, name: str, now: float) -> float:
        """A rate summed over the component's processes that reported lately."""
        return total_rate((r for (of, _), r in self.reports.items() if of == component), name, now)

    def progress(self) -> float | None:
        """The share of the run that is done, in [0, 1]; None when nothing limits it but its questions."""
        shares: list[float] = []
        if self.max_tokens:
            shares.append(self.latest.get("generated_tokens", 0.0) / self.max_tokens)
        if self.max_versions:
            shares.append(self.version / self.max_versions)
        return min(1.0, max(shares)) if shares else None

    def seconds_left(self) -> float | None:
        """An estimate from the last minutes of training; None while there is nothing to judge by."""
        fractions = [(step.time, replace(self, steps=(step,)).progress()) for step in self.steps]
        recent = [f for f in fractions if self.steps[-1].time - f[0] <= RATE_WINDOW_SECONDS]
        if len(recent) < 2:
            return None
        (began, first), (ended, last) = recent[0], recent[-1]
        if first is None or last is None or last <= first:
            return None
        return (1.0 - last) * (ended - began) / (last - first)


def begin(run: RunConfig) -> Figures:
    """The figures before the first metric."""
    return Figures(
        run=run.name,
        batch_groups=run.batch_groups,
        max_tokens=run.max_tokens,
        max_versions=run.max_versions,
    )


def observe(state: Figures, metric: schemas.Metric) -> Figures:
    """The figures after one more metric. Metrics of one process arrive in order."""
    if metric.component == "trainer" and metric.policy_version is not None:
        return replace(state, steps=_with_step(state.steps, metric, metric.policy_version))
    if metric.component == "evaluator" and metric.policy_version is not None:
        return replace(state, accuracies=_with_accuracy(state.accuracies, metric))
    reports = dict(state.reports)
    reports[metric.component, metric.instance] = Report(metric.time, metric.values)
    return replace(state, reports=reports)


def _with_step(steps: tuple[Step, ...], metric: schemas.Metric, version: int) -> tuple[Step, ...]:
    step = Step(version, metric.time, metric.values)
    kept = tuple(s for s in steps if s.version < version)
    return (*kept, step)[-KEPT_POINTS:]


def _with_accuracy(known: tuple[Accuracy, ...], metric: schemas.Metric) -> tuple[Accuracy, ...]:
    version, accuracy = metric.policy_version, metric.values.get("heldout_accuracy")
    if version is None or accuracy is None:
        return known
    measured = Accuracy(version, metric.values.get("generated_tokens", 0.0), accuracy)
    ordered = sorted([a for a in known if a.policy_version != version] + [measured])
    return tuple(ordered[:1] + ordered[1:][-KEPT_POINTS:])
