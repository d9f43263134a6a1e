"""Which processes a run has, and since when each is quiet. No I/O."""

from typing import NamedTuple

from schemas import Metric

PROCESSES = 200
"""Whose last report is remembered; the quietest goes first."""
PATIENCE_SECONDS = 15.0
"""No process is called quiet before."""
PATIENCE_REPORTS = 4
"""Nor before it missed so many reports at its own pace: the trainer reports when it has done something."""
FORGOTTEN_SECONDS = 300.0
"""A process quiet for so long is not shown beside others of its component that report."""


class Process(NamedTuple):
    """What is known of one process."""

    component: str
    instance: str
    reported: float
    """When its last report was taken off the stream, seconds since the epoch."""
    pace: float
    """The longest of its last few pauses between two reports, seconds."""

    def quiet(self, now: float) -> bool:
        """Whether a report is overdue."""
        return now - self.reported > max(PATIENCE_SECONDS, PATIENCE_REPORTS * self.pace)


class Health:
    """Takes metrics; tells which processes report."""

    def __init__(self) -> None:
        self._processes: dict[tuple[str, str], Process] = {}

    def take(self, metric: Metric, arrived: float) -> None:
        """One metric, appended at `arrived`."""
        who = metric.component, metric.instance
        before = self._processes.pop(who, None)
        pause = max(0.0, arrived - before.reported) if before else 0.0
        pace = max(pause, 0.8 * before.pace) if before else 0.0
        self._processes[who] = Process(*who, arrived, pace)
        if len(self._processes) > PROCESSES:
            del self._processes[next(iter(self._processes))]

    def processes(self, now: float) -> list[Process]:
        """Those worth a look, by component."""
        alive = {one.component for one in self._processes.values() if not one.quiet(now)}
        shown = [
            one
            for one in self._processes.values()
            if not (one.component in alive and now - one.reported > FORGOTTEN_SECONDS)
        ]
        return sorted(shown)
