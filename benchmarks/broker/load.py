"""What is sent and read, and what that took."""

import random
import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

PARTITIONS = 4
PREFETCH = 64


@dataclass(frozen=True)
class Load:
    """Records of one size."""

    name: str
    size: int
    count: int
    senders: int = 256
    """Records under way at once, ours and bare."""
    together: int = 1
    """Of them, those that one task of ours sends and waits for as one."""

    @property
    def begin(self) -> int:
        """So many records are read before reading is timed: neither joining nor the first fetch counts."""
        return self.count // 10

    @cached_property
    def value(self) -> bytes:
        """One value serves all records. Nothing can make it smaller."""
        return random.Random(0).randbytes(self.size)


class Spent(NamedTuple):
    """What a stretch of work took, of this process and its threads."""

    began: float
    """As time.perf_counter tells it."""
    seconds: float
    cpu: float
    megabytes: float

    @property
    def rate(self) -> float:
        """MB a second."""
        return self.megabytes / self.seconds

    @property
    def cost(self) -> float:
        """Processor time in ms a MB."""
        return self.cpu * 1000 / self.megabytes


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def spent(self, load: Load, records: int) -> Spent:
        """Since then, on so many records."""
        wall, cpu = time.perf_counter(), time.process_time()
        return Spent(self._wall, wall - self._wall, cpu - self._cpu, records * load.size / 1e6)
