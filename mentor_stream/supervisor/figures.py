"""The figures of a run at one moment, reduced from its metrics. What is shown of them is view/'s."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NamedTuple

import schemas
from mentor_stream.config import RunConfig
from mentor_stream.metrics.rates import FRESH_SECONDS, Report, total_rate
from mentor_stream.supervisor.steps import Step, share

KEPT_POINTS = 120
"""Length of the kept curves: more than a terminal is wide."""
RATE_WINDOW_SECONDS = 300.0
"""What the time still to go is estimated from."""
SHORT = 8
"""Versions over which a share is the mean, where the trainer did not count what it is a share of."""


class Accuracy(NamedTuple):
    """Accuracy of one policy version on the held-out questions."""

    policy_version: int
    tokens: float
    accuracy: float


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
    """Latest report of every process, by component and instance; of the trainer those between two steps."""
    failing: Mapping[str, float] = field(default_factory=dict[str, float])
    """Mentors whose endpoint answers nothing, and since when."""

    @property
    def latest(self) -> Mapping[str, float]:
        """The newest value of everything the trainer reports, with its versions or between them."""
        merged: dict[str, float] = {}
        for step in self.steps:
            merged |= step.values
        merged |= self.present
        return merged | ({_TOKENS: self.tokens} if _TOKENS in merged else {})

    @property
    def present(self) -> Mapping[str, float]:
        """What the trainer said since its last step of how things stand; nothing when it said nothing."""
        told = self._told
        return told.values if told and (not self.steps or told.time >= self.steps[-1].time) else {}

    @property
    def tokens(self) -> float:
        """Completion tokens that have arrived, also since the last step."""
        if self.present or not self.steps:
            return self.present.get(_TOKENS, 0.0)
        newest = self.steps[-1]
        told = self.reports.get(("trainer", newest.instance), Report(0.0, {}))
        return max(newest.values.get(_TOKENS, 0.0), told.values.get(_TOKENS, 0.0))

    def waiting(self, now: float) -> float | None:
        """Seconds for which the trainer has waited for a batch; None where it learns, or is not heard."""
        told = self._told
        if not self.present or told is None or now - told.time > FRESH_SECONDS:
            return None
        return self.present.get("waiting_seconds") or None

    @property
    def rescue_rate(self) -> float | None:
        """Share of the last lessons that rescued their question; None where none came lately."""
        return self._share("rescued_groups", "guided_groups", "rescue_rate")

    @property
    def collapse_rate(self) -> float | None:
        """Share of the last plain groups without a right answer; None where none came lately."""
        return self._share("collapsed_groups", "plain_groups", "zero_reward_fraction")

    def idle(self, now: float) -> float | None:
        """Share of the trainer's time spent waiting, over its last steps and since; None where unknown."""
        timed = ("wait_seconds", "step_seconds")
        steps = [s.values for s in self.steps[-SHORT:] if all(name in s.values for name in timed)]
        waited = sum(values["wait_seconds"] for values in steps) + (self.waiting(now) or 0.0)
        learned = sum(values["step_seconds"] for values in steps)
        return waited / (waited + learned) if waited + learned > 0 else None

    def unanswered(self, now: float) -> float | None:
        """Seconds for which a mentor at work has had no answer of its endpoint; None where all have."""
        silent = Report(0.0, {})
        heard = {name: self.reports.get(("mentor", name), silent).time for name in self.failing}
        times = [since for name, since in self.failing.items() if now - heard[name] < FRESH_SECONDS]
        return max(0.0, now - min(times)) if times else None

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
        return self._done(self.version, self.tokens)

    def seconds_left(self, now: float) -> float | None:
        """An estimate from the last minutes of this trainer; None while nothing was learned in them.

        What it waits counts: without a new version the time that is left grows.
        """
        steps = [s for s in self.steps if s.instance == self.steps[-1].instance]
        recent = [s for s in steps if now - s.time <= RATE_WINDOW_SECONDS]
        if len(recent) < 2:
            return None
        first = self._done(recent[0].version, recent[0].values.get(_TOKENS, 0.0))
        last = self.progress()
        if first is None or last is None or last <= first:
            return None
        return (1.0 - last) * (now - recent[0].time) / (last - first)

    @property
    def _told(self) -> Report | None:
        """The trainer's newest word without a version."""
        told = [report for (of, _), report in self.reports.items() if of == "trainer"]
        return max(told, key=lambda report: report.time, default=None)

    def _done(self, version: int, tokens: float) -> float | None:
        shares: list[float] = []
        if self.max_tokens:
            shares.append(tokens / self.max_tokens)
        if self.max_versions:
            shares.append(version / self.max_versions)
        return min(1.0, max(shares)) if shares else None

    def _share(self, part: str, whole: str, by_version: str) -> float | None:
        points = [step.values for step in self.steps] + ([self.present] if self.present else [])
        counted = [values for values in points if part in values and whole in values]
        if counted:
            return share([(v[part], v[whole]) for v in counted], whole_run=len(self.steps) < KEPT_POINTS)
        values = self.curve(by_version)[-SHORT:]
        return fmean(values) if values else None


_TOKENS = "generated_tokens"


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
    before = reports.get((metric.component, metric.instance))
    reports[metric.component, metric.instance] = Report(metric.time, metric.values)
    failing = state.failing
    if metric.component == "mentor":
        failing = _failing(failing, metric, before.values if before else {})
    return replace(state, reports=reports, failing=failing)


def _failing(
    known: Mapping[str, float], metric: schemas.Metric, before: Mapping[str, float]
) -> Mapping[str, float]:
    """A mentor's endpoint fails from the first request without an answer to the next that has one."""

    def grew(*names: str) -> bool:
        return any(metric.values.get(name, 0.0) > before.get(name, 0.0) for name in names)

    others = {instance: since for instance, since in known.items() if instance != metric.instance}
    if grew("answered"):
        return others
    if grew("down", "closed"):
        return others | {metric.instance: known.get(metric.instance, metric.time)}
    return known


def _with_step(steps: tuple[Step, ...], metric: schemas.Metric, version: int) -> tuple[Step, ...]:
    step = Step(version, metric.time, metric.values, metric.instance)
    kept = tuple(s for s in steps if s.version < version)
    return (*kept, step)[-KEPT_POINTS:]


def _with_accuracy(known: tuple[Accuracy, ...], metric: schemas.Metric) -> tuple[Accuracy, ...]:
    version, accuracy = metric.policy_version, metric.values.get("heldout_accuracy")
    if version is None or accuracy is None:
        return known
    measured = Accuracy(version, metric.values.get("generated_tokens", 0.0), accuracy)
    ordered = sorted([a for a in known if a.policy_version != version] + [measured])
    return tuple(ordered[:1] + ordered[1:][-KEPT_POINTS:])
