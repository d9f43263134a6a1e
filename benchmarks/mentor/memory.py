"""What a mentor process holds while it works through a backlog far longer than it can teach."""

import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anyio

from benchmarks.mentor.cases import RUN, mentor, publish, url
from benchmarks.mentor.endpoint import endpoint
from benchmarks.rows import Finding, Wanted, row
from mentor_stream import topics
from mentor_stream.stream import Stream, connect

CONCURRENCY = 64
LATENCY = 2.0
TOKENS = 40
MOST_GROWTH = 100.0
"""Bytes a case: less than the smallest thing one could forget to let go of."""


def memory(directory: Path, cases: int) -> Iterator[Finding]:
    """Resident at the end, beside the first tenth; and the typical growth from one tenth to the next."""
    with TemporaryDirectory(dir=directory) as home, endpoint(LATENCY) as server:
        anyio.run(lambda: publish(Path(home), cases, tokens=TOKENS), backend="trio")
        with mentor(Path(home), server.url, concurrency=CONCURRENCY, backlog="256") as process:
            tenths = anyio.run(_resident_by_tenths, Path(home), cases, process, backend="trio")
    yield row(f"mentor.memory.{cases}-cases", tenths[-1], "MB", tenths[0]), None
    growth = median(later - earlier for earlier, later in pairwise(tenths)) * 1e6 / (cases / 10)
    yield (
        row("mentor.memory.growth", growth, "bytes a case", 4 * TOKENS * 8),
        Wanted("value", "at most", MOST_GROWTH),
    )


async def _resident_by_tenths(directory: Path, cases: int, process: subprocess.Popen[bytes]) -> list[float]:
    """MB of the process, the median within each tenth of the cases that it has dealt with."""
    async with connect(url(directory), RUN, "benchmark") as stream:
        looks: list[list[float]] = [[] for _ in range(10)]
        # the last cases wait for their turn at the endpoint
        while (done := await _diagnoses(stream)) < cases - 1024:
            if process.poll() is not None:
                raise RuntimeError(f"the mentor ended with code {process.returncode}")
            looks[done * 10 // cases].append(_resident(process.pid))
            await anyio.sleep(0.1)
    return [median(tenth) for tenth in looks if tenth]


async def _diagnoses(stream: Stream) -> int:
    return sum(bounds.next for bounds in (await stream.bounds(topics.DIAGNOSES)).values())


def _resident(pid: int) -> float:
    """MB of a process in memory now."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000
