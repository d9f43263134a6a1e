"""Which curves there are, and what each takes from the metrics of a run. No I/O."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import NamedTuple

from consumers.monitor.curve import Curve
from mentor_stream.metrics.rates import Report, total_rate
from schemas import Metric

BY_VERSION = ("reward", "zero_reward_fraction", "rescue_rate", "staleness_mean", "staleness_max")
"""What the trainer reports of each version under these names."""
OF_MENTORS = ("mentor_seconds", "mentor_backlog")
"""Told of runs in which a mentor reported."""
SPACING_SECONDS = 2.0
"""Between two points of what is measured all the time."""
PROCESSES = 1_000
"""Whose last reports are remembered."""
LATEST_TIME = 4e9
"""No metric of ours was taken later, in the year 2096."""


class Line(NamedTuple):
    """One curve in a panel."""

    name: str
    label: str = ""


class Panel(NamedTuple):
    """What is drawn together, on one scale."""

    title: str
    note: str
    form: str
    """fraction (of 1), number, seconds or count: how a value is written."""
    lines: tuple[Line, ...]


PANELS = (
    Panel("Held-out accuracy", "never trained on, no hints", "fraction", (Line("accuracy"),)),
    Panel("Reward", "mean over plain groups", "number", (Line("reward"),)),
    Panel("Zero-reward groups", "share of plain groups", "fraction", (Line("zero_reward_fraction"),)),
    Panel("Rescue rate", "guided groups with a right answer", "fraction", (Line("rescue_rate"),)),
    Panel("Mentor latency", "mean time a case took", "seconds", (Line("mentor_seconds"),)),
    Panel("Mentor backlog", "collapsed groups not dealt with", "count", (Line("mentor_backlog"),)),
    Panel(
        "Staleness",
        "versions between sampling and training",
        "number",
        (Line("staleness_mean", "mean"), Line("staleness_max", "oldest")),
    ),
    Panel("Generation", "tokens a second, all workers", "count", (Line("tokens_per_second"),)),
    Panel("Trainer idle", "share of its time waiting for groups", "fraction", (Line("trainer_idle"),)),
)

NAMES = tuple(line.name for panel in PANELS for line in panel.lines)


class Measures:
    """All curves of a run, fed with its metrics in the order of the topic."""

    def __init__(self) -> None:
        self.curves: Mapping[str, Curve] = {name: Curve() for name in NAMES}
        self._reports: dict[tuple[str, str], Report] = {}
        self._collapsed = self._dealt_with = 0.0

    def take(self, metric: Metric, mark: int, arrived: float) -> None:
        """One metric; `arrived` is when it was appended, for one whose own time is none."""
        time = metric.time if 0 < metric.time < LATEST_TIME else arrived
        values = {name: value for name, value in metric.values.items() if isfinite(value)}
        match metric.component:
            case "trainer" if metric.policy_version is not None:
                self._trained(values, mark, time, metric.policy_version)
            case "evaluator" if metric.policy_version is not None and "heldout_accuracy" in values:
                self._evaluated(values["heldout_accuracy"], mark, time, metric.policy_version)
            case "rollout":
                self._collapsed += self._risen(metric, values, "collapsed")
                self._remember(metric, time, values)
                self._add("tokens_per_second", mark, time, lambda: self._rate("tokens_per_second", time))
                self._backlog(mark, time)
            case "mentor":
                self._taught(metric, values, mark, time)
            case _:
                pass

    def _trained(self, values: Mapping[str, float], mark: int, time: float, version: int) -> None:
        for name in (*BY_VERSION, "trainer_idle"):
            self.curves[name].undo(version, mark)
        for name in BY_VERSION:
            if name in values:
                self.curves[name].add(mark, time, values[name], version)
        waited, stepped = values.get("wait_seconds"), values.get("step_seconds")
        if waited is not None and stepped is not None and waited + stepped > 0:
            self.curves["trainer_idle"].add(mark, time, waited / (waited + stepped), version)

    def _evaluated(self, accuracy: float, mark: int, time: float, version: int) -> None:
        if not self.curves["accuracy"].replace(version, mark, accuracy):
            self.curves["accuracy"].add(mark, time, accuracy, version)

    def _taught(self, metric: Metric, values: Mapping[str, float], mark: int, time: float) -> None:
        """Latency is that of the cases since the report before, which the running mean hides."""
        (count, seconds), (known, spent) = _work(values), _work(self._last(metric))
        self._dealt_with += self._risen(metric, values, "cases")
        self._remember(metric, time, values)
        if count > known and seconds >= spent:
            self._add("mentor_seconds", mark, time, lambda: (seconds - spent) / (count - known))
        self._backlog(mark, time)

    def _backlog(self, mark: int, time: float) -> None:
        self._add("mentor_backlog", mark, time, lambda: max(0.0, self._collapsed - self._dealt_with))

    def _add(self, name: str, mark: int, time: float, value: Callable[[], float]) -> None:
        last = self.curves[name].last
        if last is None or time - last.time >= SPACING_SECONDS:
            self.curves[name].add(mark, time, value())

    def _risen(self, metric: Metric, values: Mapping[str, float], name: str) -> float:
        """By how much a process's running total is more than in its report before."""
        return max(0.0, values.get(name, 0.0) - self._last(metric).get(name, 0.0))

    def _last(self, metric: Metric) -> Mapping[str, float]:
        _, values = self._reports.get((metric.component, metric.instance), Report(0.0, {}))
        return values

    def _rate(self, name: str, now: float) -> float:
        return total_rate(self._reports.values(), name, now)

    def _remember(self, metric: Metric, time: float, values: Mapping[str, float]) -> None:
        who = metric.component, metric.instance
        self._reports.pop(who, None)
        self._reports[who] = Report(time, values)
        if len(self._reports) > PROCESSES:
            del self._reports[next(iter(self._reports))]


def _work(values: Mapping[str, float]) -> tuple[float, float]:
    """Cases a guide worked on, and the seconds of all of them, so far."""
    count = sum(values.get(name, 0.0) for name in ("hints", "fallbacks", "silent"))
    return count, count * values.get("seconds_mean", 0.0)
