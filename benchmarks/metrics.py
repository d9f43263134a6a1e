"""What measuring costs, against prometheus-client; and what a component loses to those who ask it.

python -m benchmarks.metrics --json

metrics.observe, metrics.add     one value of a histogram, one step of a counter
metrics.text                     the text of a scrape
metrics.scraped                  a component's work beside a scraper that asks twice a second
metrics.flooded                  beside 200 clients that open connections without end and send half a request,
                                 and one that asks for metrics without a pause

The last two are units of work a second, in one thread under trio, against the same component left alone:
rounds are interleaved. Clients are a process of their own, which takes a core where one is free, and
otherwise part of the component's.
"""

import argparse
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median

import anyio
import anyio.lowlevel
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from benchmarks.rows import Finding, row, show
from mentor_stream.metrics import catalogue
from mentor_stream.metrics.catalogue.mentor import CASE_SECONDS
from mentor_stream.metrics.catalogue.shared import DEAD_LETTERS
from mentor_stream.metrics.exposition import Exposition
from mentor_stream.metrics.health import Health
from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.readings import Readings
from mentor_stream.metrics.server import Site, listen

REPEATS = 2000
SCRAPER = """
import sys, time, urllib.request
while True:
    urllib.request.urlopen(f"http://{sys.argv[1]}/metrics").read()
    time.sleep(0.5)
"""
FLOOD = """
import socket, sys, threading, urllib.request
host, port = sys.argv[1].split(":")
def slow():
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=5) as client:
                client.sendall(b"GET /metrics HTTP/1.1\\r\\nX: ")
                client.recv(1)
        except OSError:
            pass
for _ in range(200):
    threading.Thread(target=slow, daemon=True).start()
while True:
    try:
        urllib.request.urlopen(f"http://{sys.argv[1]}/metrics", timeout=5).read()
    except OSError:
        pass
"""


def microseconds(work: Callable[[], object], repeats: int) -> float:
    """Mean time of one call."""
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats * 1e6


def compare(
    name: str, ours: Callable[[], object], bare: Callable[[], object], repeats: int, rounds: int
) -> Finding:
    """Medians of interleaved rounds."""
    pairs = [(microseconds(ours, repeats), microseconds(bare, repeats)) for _ in range(rounds)]
    return row(name, median(p[0] for p in pairs), "us", median(p[1] for p in pairs)), None


def measuring(rounds: int) -> list[Finding]:
    """Against the library's own objects."""
    readings, registry = Readings(), CollectorRegistry()
    histogram = Histogram("h", "h", buckets=CASE_SECONDS.buckets, registry=registry)
    counter = Counter("c", "c", ["topic"], registry=registry)
    return [
        compare(
            "metrics.observe",
            lambda: readings.observe(CASE_SECONDS, 3.0),
            lambda: histogram.observe(3.0),
            REPEATS,
            rounds,
        ),
        compare(
            "metrics.add",
            lambda: readings.add(DEAD_LETTERS, 1, "groups"),
            lambda: counter.labels("groups").inc(),
            REPEATS,
            rounds,
        ),
    ]


def exposing(rounds: int) -> Finding:
    """The mentor's metrics, against as many of the library's."""
    exposition = Exposition("run", "mentor", Readings(), Health())
    registry = CollectorRegistry()
    for measure in catalogue.of("mentor"):
        if measure.kind is Kind.HISTOGRAM:
            Histogram(measure.name, measure.means, buckets=measure.buckets, registry=registry)
        else:
            Counter(measure.name, measure.means, registry=registry)
    return compare("metrics.text", lambda: exposition.text(""), lambda: generate_latest(registry), 20, rounds)


def disturbed(name: str, script: str, rounds: int, seconds: float) -> Finding:
    """Work a second beside clients, against work a second alone."""
    health = Health()
    with listen("127.0.0.1:0", Site(health, Exposition("run", "mentor", Readings(), health).text)) as address:
        pairs = [
            (worked(_clients(script, str(address)), seconds), worked(nullcontext(), seconds))
            for _ in range(rounds)
        ]
    return row(name, median(p[0] for p in pairs), "units/s", median(p[1] for p in pairs)), None


@contextmanager
def _clients(script: str, address: str) -> Generator[None]:
    with subprocess.Popen([sys.executable, "-c", script, address]) as clients:
        time.sleep(0.5)  # they start
        try:
            yield
        finally:
            clients.kill()


def worked(beside: AbstractContextManager[object], seconds: float) -> float:
    """Units of work a second of an event loop: a little hashing, then a turn."""

    async def work() -> int:
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            hashlib.sha256(bytes(2**15)).digest()
            done += 1
            await anyio.lowlevel.checkpoint()
        return done

    with beside:
        return anyio.run(work, backend="trio") / seconds


def main() -> None:
    """Print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="a little of each")
    options = parser.parse_args()
    rounds, seconds = (1, 0.1) if options.quick else (15, 1.0)
    found = [
        *measuring(rounds),
        exposing(rounds),
        disturbed("metrics.scraped", SCRAPER, rounds, seconds),
        disturbed("metrics.flooded", FLOOD, rounds, seconds),
    ]
    show(found, as_json=options.json)


if __name__ == "__main__":
    main()
