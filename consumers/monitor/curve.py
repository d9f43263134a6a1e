"""One measured value over time in bounded memory: the newest points as they are, older ones put together."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

RECENT = 240
"""Points kept as they were measured."""
COARSE = 360
"""Points that stand for all older ones; when there are more, each two become one."""


class Point(NamedTuple):
    """What was measured, or the mean of several that lay beside each other."""

    mark: int
    """Rises from point to point over all curves, so that a reader can ask for what it has not seen."""
    time: float
    """Seconds since the epoch, of the last."""
    value: float
    low: float
    high: float
    samples: int
    version: int | None
    """The policy version, of the last, where it is measured by version."""


@dataclass(frozen=True, slots=True)
class Since:
    """The points behind a mark, or all when what the reader has cannot be added to."""

    points: tuple[Point, ...]
    whole: bool


class Curve:
    """Takes points as they are measured. Never more than RECENT + COARSE are kept."""

    def __init__(self) -> None:
        self._recent: deque[Point] = deque()
        self._coarse: list[Point] = []
        self._stride = 1
        self._rewritten = 0
        """Points up to this mark are no longer as a reader may have got them."""

    def __iter__(self) -> Iterator[Point]:
        yield from self._coarse
        yield from self._recent

    def add(self, mark: int, time: float, value: float, version: int | None = None) -> None:
        """One point more. Time does not run backwards here: clocks of several machines may differ."""
        last = self.last
        if last is not None:
            time = max(time, last.time)
        self._recent.append(Point(mark, time, value, value, value, 1, version))
        if len(self._recent) > RECENT:
            self._coarsen(self._recent.popleft())

    @property
    def last(self) -> Point | None:
        """The newest point."""
        return self._recent[-1] if self._recent else self._coarse[-1] if self._coarse else None

    def undo(self, version: int, mark: int) -> None:
        """Take out the points of this version and later ones, which stand at the end and are measured again.

        Of an old stretch that was put together and holds the version, the whole goes.
        """
        while (last := self.last) is not None and last.version is not None and last.version >= version:
            (self._recent or self._coarse).pop()
            self._rewritten = mark

    def replace(self, version: int, mark: int, value: float) -> bool:
        """Give the point of this version another value. Whether there is one as it was measured."""
        for place, point in enumerate(self._recent):
            if point.version == version:
                self._recent[place] = point._replace(value=value, low=value, high=value)
                self._rewritten = mark
                return True
        return False

    def since(self, mark: int) -> Since:
        """What came after `mark`; all of it where older points were changed since."""
        if mark < self._rewritten or (self._coarse and mark < self._coarse[-1].mark):
            return Since(tuple(self), whole=True)
        new: list[Point] = []
        for point in reversed(self._recent):
            if point.mark <= mark:
                break
            new.append(point)
        return Since(tuple(reversed(new)), whole=False)

    def _coarsen(self, point: Point) -> None:
        if self._coarse and self._coarse[-1].samples < self._stride:
            self._coarse[-1] = _merged([self._coarse[-1], point])
        else:
            self._coarse.append(point)
        if len(self._coarse) > COARSE:
            pairs = (self._coarse[at : at + 2] for at in range(0, len(self._coarse), 2))
            self._coarse, self._stride = [_merged(pair) for pair in pairs], self._stride * 2


def _merged(points: Iterable[Point]) -> Point:
    """Several points as one: their mean, weighted, and what they lay between."""
    points = list(points)
    samples, last = sum(point.samples for point in points), points[-1]
    mean = sum(point.value * (point.samples / samples) for point in points)
    low, high = min(point.low for point in points), max(point.high for point in points)
    # rounding must not push the mean out of what it is the mean of
    return last._replace(value=min(max(mean, low), high), low=low, high=high, samples=samples)
