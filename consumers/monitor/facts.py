"""What a verdict on a run is made of. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, variance


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known at a moment. Shares are lately, None where there was nothing to take one of."""

    away: str = ""
    """Why the broker does not answer."""
    heard: bool = True
    """Whether it ever did."""
    finished: bool = False
    reporting: frozenset[str] = frozenset()
    """Components of which a process reports."""
    silent: Mapping[str, float] = field(default_factory=dict[str, float])
    """Components of which every process is quiet, and for how many seconds."""
    waiting: Mapping[str, int] = field(default_factory=dict[str, int])
    """Work by the topic that it waits on."""
    dead_letters: int = 0
    version: int | None = None
    rewards: Sequence[float] = ()
    """Of the newest versions, the oldest first."""
    accuracies: Sequence[float] = ()
    """On held-out questions, from the first to the newest."""
    sampling: float = 0.0
    """Tokens a second of all workers."""
    idle: float | None = None
    """Of the trainer's time, that in which it waits for groups."""
    waited: float | None = None
    """Seconds for which it has waited for its next batch."""
    collapsed: float | None = None
    """Of plain groups."""
    rescued: float | None = None
    """Of guided groups."""
    unscorable: float | None = None
    """Of trajectories."""
    bad_steps: float = 0
    too_late: float | None = None
    """Of cases, those that got no lesson since they were too old or too many."""
    failed_calls: float | None = None
    """Of agents, to a case."""
    unanswered: float | None = None
    """Seconds for which a mentor's endpoint has answered nothing."""
    unhinted: float | None = None
    """Of the cases that a guide worked on, those that ended without its hint."""
    refused: Mapping[str, float] = field(default_factory=dict[str, float])
    """Drafts that were refused, by the verdict."""
    lessons: tuple[int, int] = (0, 0)
    """Over the whole run: those that rescued their question, and all that were tried."""
    backlog: Sequence[float] = ()
    """Collapsed groups that no mentor has dealt with, the oldest figure first."""

    @property
    def questions(self) -> int:
        """Those that wait for a worker."""
        return self.waiting.get("queries", 0) + self.waiting.get("guided", 0)


def halves(values: Sequence[float]) -> tuple[float, float]:
    """The means of the first and the second half of two values or more."""
    middle = len(values) // 2
    return fmean(values[:middle]), fmean(values[middle:])


def moved(values: Sequence[float]) -> float:
    """By how many standard errors the second half's mean lies above the first's, of four values or more."""
    middle = len(values) // 2
    first, second = values[:middle], values[middle:]
    error = sqrt(variance(first) / len(first) + variance(second) / len(second))
    return (fmean(second) - fmean(first)) / max(error, 1e-9)
