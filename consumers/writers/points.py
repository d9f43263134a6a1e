"""What of the metrics topic is written: of trainer and evaluator each record, of others fewer. No I/O."""

import re
from typing import NamedTuple

import msgspec

from schemas import Metric

BY_VERSION = ("trainer", "evaluator")
"""Their records are one a policy version: all are kept. Others report all the time."""
ALONE = (*BY_VERSION, "feeder")
"""There is one of each, whatever process it is at the moment: its curves go on after a restart."""


class Point(NamedTuple):
    """What one record says."""

    series: str
    """Whose it is: a name that is safe as a file's."""
    step: int
    """The policy version."""
    time: float
    """Seconds since the epoch."""
    values: dict[str, float]
    """By tag: component/name."""
    rewound: bool
    """The trainer went back to a checkpoint: its points from this step on are of what was undone."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How far the topic was read, and what must be known of it to go on."""

    offset: int = 0
    """Of the record that comes next."""
    written_at: dict[str, float] = {}
    """When the last point of each series was measured."""
    step: int = -1
    """The trainer's last."""


def advance(
    reached: Reached, offset: int, metric: Metric | None, every: float
) -> tuple[Reached, Point | None]:
    """Past the record at `offset`: what it adds, if anything. None is a record that cannot be read.

    Points of a series that is not BY_VERSION are at least `every` seconds apart.
    """
    after = msgspec.structs.replace(reached, offset=offset + 1)
    if metric is None or not metric.values:
        return after, None
    series, step = series_of(metric), metric.policy_version or 0
    by_version = metric.component in BY_VERSION
    if by_version and metric.policy_version is None:  # what holds between two versions
        return after, None
    since = metric.time - reached.written_at.get(series, -every)  # below 0 where a clock went back
    if not by_version and 0 <= since < every:
        return after, None
    trained = metric.component == "trainer"
    values = {f"{metric.component}/{name}": value for name, value in metric.values.items()}
    point = Point(series, step, metric.time, values, rewound=trained and step <= reached.step)
    return msgspec.structs.replace(
        after,
        written_at=reached.written_at | {series: metric.time},
        step=step if trained else reached.step,
    ), point


def series_of(metric: Metric) -> str:
    """The component, and of those of which there are several the process too."""
    name = metric.component if metric.component in ALONE else f"{metric.component}-{metric.instance}"
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:120]
