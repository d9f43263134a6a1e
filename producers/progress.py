"""How far feeding has come, seen from the stream alone: what a restarted feeder has to know. Pure.

The feeder sends WINDOW queries at a time and goes on when the broker has all of them. So whatever a crash
interrupts, only positions of the last window can be missing, and the end of each partition shows them.
"""

from collections.abc import Collection
from typing import NamedTuple

WINDOW = 64
"""Queries sent at once. A smaller window than the one that fed a run before would overlook gaps."""

TAIL = 4 * WINDOW
"""Messages at a partition's end that surely hold its part of the last window: behind a position stand only
those of its own sending and later ones, two windows at most, and as many repeats."""


class Progress(NamedTuple):
    """Where to go on: first the gaps, then everything from `next`."""

    gaps: list[int]
    next: int


def progress(positions: Collection[int]) -> Progress:
    """What the positions at the ends of all partitions tell; of an empty stream, to begin at 0."""
    if not positions:
        return Progress([], 0)
    end = max(positions) + 1
    seen = frozenset(positions)
    return Progress([p for p in range(max(0, end - WINDOW), end) if p not in seen], end)
