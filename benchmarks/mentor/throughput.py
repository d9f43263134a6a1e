"""Requests a second that reach the endpoint: the mentor's, and those of the openai client alone."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anyio

from benchmarks.mentor.cases import mentor, publish
from benchmarks.mentor.endpoint import Answered, Endpoint, endpoint
from benchmarks.rows import Finding, Wanted, row

LATENCY = 2.0
"""Seconds."""
CALLS = 3
"""Requests of a case here: Attribution, Generation, Judgment."""
TOKENS = 400
"""Of a trajectory."""


def against_latency(directory: Path, concurrency: int, turns: int) -> Iterator[Finding]:
    """What an endpoint of this latency could do at most with so many requests in flight."""
    rate = ours(directory, (concurrency,), turns)[0]
    wanted = Wanted("ratio", "at least", 0.9)
    yield row(f"mentor.in-flight-{concurrency}", rate, "requests/s", concurrency / LATENCY), wanted


def against_bare(directory: Path, concurrency: int, turns: int, rounds: int) -> Iterator[Finding]:
    """What the openai client alone does with so many requests of the same size, in turn with ours."""
    own, alone = list[float](), list[float]()
    for _ in range(rounds):
        rate, size = ours(directory, (concurrency,), turns)
        own.append(rate)
        alone.append(bare(concurrency, size, turns))
    wanted = Wanted("ratio", "at least", 0.9)
    yield row(f"mentor.in-flight-{concurrency}", median(own), "requests/s", median(alone)), wanted


def of_several(directory: Path, concurrency: int, turns: int, mentors: Sequence[int]) -> Iterator[Finding]:
    """What a consumer group of several mentors does, beside one: as many in flight in all."""
    rates = {count: ours(directory, (concurrency // count,) * count, turns)[0] for count in mentors}
    for count, rate in rates.items():
        yield row(f"mentor.mentors-{count}", rate, "requests/s", rates[mentors[0]]), None


def ours(directory: Path, concurrency: Sequence[int], turns: int) -> tuple[float, int]:
    """Requests a second of a mentor for each concurrency, and the bytes of a request."""
    in_flight = sum(concurrency)
    cases = in_flight * (turns + 6) // CALLS + 2 * in_flight
    with TemporaryDirectory(dir=directory) as home, endpoint(LATENCY) as server, ExitStack() as stack:
        anyio.run(lambda: publish(Path(home), cases, tokens=TOKENS), backend="trio")
        processes = [
            stack.enter_context(mentor(Path(home), server.url, concurrency=each, backlog='"unlimited"'))
            for each in concurrency
        ]
        seen = _watched(server, in_flight, turns, processes[0])
        return _rate(seen, in_flight, turns), seen.request_bytes // len(seen.times)


def bare(concurrency: int, size: int, turns: int) -> float:
    """Requests a second of the openai client."""
    with endpoint(LATENCY) as server:
        command = [sys.executable, "-m", "benchmarks.mentor.bare", server.url, str(concurrency), str(size)]
        with subprocess.Popen(command) as process:
            try:
                return _rate(_watched(server, concurrency, turns, process), concurrency, turns)
            finally:
                process.kill()


def _watched(server: Endpoint, in_flight: int, turns: int, process: subprocess.Popen[bytes]) -> Answered:
    """Until everything that was in flight was answered so often, after two turns that do not count."""
    return server.at(in_flight * (2 + turns) + 1, process)


def _rate(seen: Answered, in_flight: int, turns: int) -> float:
    """Over whole turns: replies come in bursts, as long as requests go out together."""
    first = 2 * in_flight
    return in_flight * turns / (seen.times[first + in_flight * turns] - seen.times[first])
