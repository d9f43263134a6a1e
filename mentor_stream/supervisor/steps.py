"""The trainer's steps, and shares over the last groups that it counted. No I/O."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GROUPS = 100
"""Over how many of the last groups a share is taken: those of a single version are few."""


class Step(NamedTuple):
    """What the trainer reported with one policy version."""

    version: int
    time: float
    values: Mapping[str, float]
    instance: str = ""
    """Which trainer it was: its host and process id."""


def share(totals: Sequence[tuple[float, float]], *, whole_run: bool) -> float | None:
    """The share of a part in the last GROUPS, or as many as there were; None where there were none.

    `totals` are a part and its whole as they rose, and begin with the run where it is the `whole_run`.
    """
    part, whole = totals[-1]
    earlier = [(0.0, 0.0)] * whole_run + [known for known in totals[:-1] if known[1] <= whole]
    before = next((known for known in reversed(earlier) if whole - known[1] >= GROUPS), None)
    before = before or next(iter(earlier), (part, whole))
    return (part - before[0]) / (whole - before[1]) if whole > before[1] else None
