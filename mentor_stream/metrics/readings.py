"""The values of this process's metrics, as they stand."""

import os
import socket
import threading
from bisect import bisect_left
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from mentor_stream.metrics import catalogue
from mentor_stream.metrics.measure import Kind, Labels, Measure


@dataclass
class Distribution:
    """A histogram: how many values fell into each bucket, the last one without a bound."""

    counts: list[int]
    total: float = 0.0


@dataclass
class Readings:
    """What was measured last, of each series. Any thread may write and read; nothing waits for long."""

    _values: dict[tuple[Measure, Labels], float] = field(default_factory=dict[tuple[Measure, Labels], float])
    _distributions: dict[tuple[Measure, Labels], Distribution] = field(
        default_factory=dict[tuple[Measure, Labels], Distribution]
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set(self, measure: Measure, value: float, *labels: str) -> None:
        """What a gauge shows from now on, or a counter that is counted elsewhere."""
        assert len(labels) == len(measure.labels), measure.name
        with self._lock:
            self._values[measure, labels] = value

    def add(self, measure: Measure, amount: float = 1.0, *labels: str) -> None:
        """So much more of a counter."""
        assert len(labels) == len(measure.labels), measure.name
        with self._lock:
            self._values[measure, labels] = self._values.get((measure, labels), 0.0) + amount

    def observe(self, measure: Measure, value: float, *labels: str) -> None:
        """One more value of a histogram."""
        assert measure.kind is Kind.HISTOGRAM, measure.name
        assert len(labels) == len(measure.labels), measure.name
        with self._lock:
            seen = self._distributions.setdefault((measure, labels), _empty(measure))
            seen.counts[bisect_left(measure.buckets, value)] += 1
            seen.total += value

    @contextmanager
    def timing(self, measure: Measure, *labels: str) -> Generator[None]:
        """Observe the seconds that the body takes, unless it raises."""
        began = monotonic()
        yield
        self.observe(measure, monotonic() - began, *labels)

    def report(self, component: str, values: Mapping[str, float]) -> None:
        """Take in the values of one of the component's Metric records."""
        for key, value in values.items():
            for measure, labels in catalogue.fed_by(component, key):
                if measure.kind is Kind.HISTOGRAM:
                    self.observe(measure, value, *labels)
                elif measure.increments:
                    self.add(measure, value, *labels)
                else:
                    self.set(measure, value, *labels)

    def values(self, measure: Measure) -> dict[Labels, float]:
        """Of each series of a counter or gauge; a counter's known ones are there from the start."""
        start = _beginnings(measure) if measure.kind is Kind.COUNTER else ()
        with self._lock:
            found = {labels: value for (of, labels), value in self._values.items() if of is measure}
        return dict.fromkeys(start, 0.0) | found

    def distributions(self, measure: Measure) -> dict[Labels, Distribution]:
        """Of each series of a histogram."""
        with self._lock:
            found = {
                labels: Distribution(list(seen.counts), seen.total)
                for (of, labels), seen in self._distributions.items()
                if of is measure
            }
        return {labels: _empty(measure) for labels in _beginnings(measure)} | found


def _empty(measure: Measure) -> Distribution:
    return Distribution([0] * (len(measure.buckets) + 1))


def _beginnings(measure: Measure) -> tuple[Labels, ...]:
    return measure.begins or tuple(measure.keys.values()) or (() if measure.labels else ((),))


INSTANCE = f"{socket.gethostname()}:{os.getpid()}"
"""As this process calls itself in records."""
OWN = Readings()
"""Those of this process: one process is one component of one run."""
