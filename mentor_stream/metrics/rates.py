"""Rates that several processes report, as one. No I/O."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

FRESH_SECONDS = 30.0
"""A process's rate counts for this long after its last report."""


class Report(NamedTuple):
    """The latest word of one process."""

    time: float
    values: Mapping[str, float]


def total_rate(reports: Iterable[Report], name: str, now: float) -> float:
    """The sum over the processes that reported lately."""
    return sum(report.values.get(name, 0.0) for report in reports if now - report.time < FRESH_SECONDS)
