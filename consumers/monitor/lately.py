"""By how much running totals of all processes have grown lately, in bounded memory. No I/O."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from math import isfinite

from consumers.refusals import VERDICTS
from schemas import Metric

WINDOW_SECONDS = 600.0
SPACING_SECONDS = 10.0
PROCESSES = 1_000
"""Whose last totals are remembered."""
WATCHED = {
    "rollout": ("groups", "collapsed", "right", "wrong", "unscorable"),
    "mentor": (
        *("cases", "hints", "fallbacks", "silent", "stale", "shed", "failed_calls"),
        *(f"refused_{verdict}" for verdict in VERDICTS),
    ),
    "trainer": ("bad_steps", "steps_taken"),
}
"""The totals by component. The trainer's are of each batch, not running."""


Total = tuple[str, str]
"""A component and the name of what it counts."""


class Lately:
    """Takes metrics in the order of the topic."""

    def __init__(self) -> None:
        self._totals: dict[Total, float] = {}
        self._known: OrderedDict[tuple[str, str], Mapping[str, float]] = OrderedDict()
        self._before: deque[tuple[float, dict[Total, float]]] = deque()

    def take(self, metric: Metric, arrived: float) -> None:
        """One metric, appended at `arrived`."""
        names = WATCHED.get(metric.component)
        if names is None:
            return
        who = metric.component, metric.instance
        known = self._known.pop(who, {})
        if not self._before or arrived - self._before[-1][0] >= SPACING_SECONDS:
            self._before.append((arrived, self._totals.copy()))
            while len(self._before) > 1 and arrived - self._before[1][0] >= WINDOW_SECONDS:
                self._before.popleft()
        values = {name: value for name, value in metric.values.items() if name in names and isfinite(value)}
        for name, value in values.items():
            base = 0.0 if metric.component == "trainer" else known.get(name, 0.0)
            total = metric.component, name
            self._totals[total] = self._totals.get(total, 0.0) + max(0.0, value - base)
        self._known[who] = values
        if len(self._known) > PROCESSES:
            self._known.popitem(last=False)

    def grown(self, component: str, name: str) -> float:
        """By how much the total of all processes has grown within about WINDOW_SECONDS before the last."""
        if not self._before:
            return 0.0
        total = component, name
        return self._totals.get(total, 0.0) - self._before[0][1].get(total, 0.0)

    def share(self, component: str, part: str, *of: str) -> float | None:
        """A part of the sum of others, as they have grown; None where they have not."""
        whole = sum(self.grown(component, name) for name in of)
        return self.grown(component, part) / whole if whole > 0 else None
