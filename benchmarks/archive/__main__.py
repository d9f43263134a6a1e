"""A run out into a file and back: groups a second and memory, beside a bare copy.

    python -m benchmarks.archive                                  # from SQLite and from Kafka
    python -m benchmarks.archive --engine sqlite --quick --json   # seconds: whether it works, no verdict
    python -m benchmarks.archive --engine kafka --kafka host:9092

100,000 groups of four answers with 80 tokens (8 kB each). Each copy is made by a process of its own; speed
is the median of rounds in which ours and bare take turns, without their start. The bare copy decodes, digests
and checks nothing, and has no columns of what records say. Memory is the growth of the process's peak, beside
that for a tenth of the groups.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple
from uuid import uuid4

import anyio

from benchmarks.broker.engines import cluster
from benchmarks.mentor.cases import groups
from benchmarks.rows import Finding, Wanted, row, show
from mentor_stream import topics
from mentor_stream.broker import BrokerError
from mentor_stream.stream import connect

TOKENS = 80
MOST_MEGABYTES = 200.0
Which = Literal["ours", "bare"]
BOTH: tuple[Which, Which] = ("ours", "bare")


class Made(NamedTuple):
    """One copy."""

    rate: float
    """Groups a second."""
    megabytes: float


class Recording(NamedTuple):
    """A run with so many groups."""

    url: str
    run: str


async def recorded(url: str, count: int) -> Recording:
    """A new run with so many groups on `collapsed`."""
    run = f"archive-{uuid4().hex[:8]}"
    async with connect(url, run, "benchmark") as stream:
        left = groups(count, TOKENS)
        while part := list(islice(left, 500)):
            await stream.publish_all(topics.COLLAPSED, part)
    return Recording(url, run)


def copied(which: Which, way: str, source: str, run: str, target: Path) -> Made:
    """One copy by a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.archive.{which}", way, source, run, str(target)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Made(*json.loads(done.stdout))


def compared(
    name: str, way: str, sources: dict[Which, Recording], small: Recording, rounds: int, home: Path
) -> Iterator[Finding]:
    """Rounds in which both take turns; and how much memory ours takes for a tenth."""
    target = home / f"copy.{'parquet' if way == 'export.parquet' else 'db'}"

    def made(which: Which, of: Recording) -> Made:
        try:
            return copied(which, way, *of, target)
        finally:
            for left in home.glob("copy.*"):
                left.unlink()

    found = [{which: made(which, sources[which]) for which in BOTH} for _ in range(rounds)]
    ours, bare = (median(one[which].rate for one in found) for which in BOTH)
    yield row(f"archive.{name}.{way}.groups", ours, "groups/s", bare), None
    peak = median(one["ours"].megabytes for one in found)
    wanted = Wanted("value", "at most", MOST_MEGABYTES)
    yield row(f"archive.{name}.{way}.memory", peak, "MB", made("ours", small).megabytes), wanted


def measured(name: str, urls: tuple[str, str], count: int, rounds: int, home: Path) -> Iterator[Finding]:
    """What an engine's run takes to export; a tenth of the groups for what memory should not depend on."""
    whole, tenth = (
        anyio.run(recorded, url, size, backend="trio")
        for url, size in zip(urls, (count, count // 10), strict=True)
    )
    for way in ("export.parquet", "export.db"):
        yield from compared(name, way, dict.fromkeys(BOTH, whole), tenth, rounds, home)
    if name == "sqlite":
        files = [home / f"{which}.parquet" for which in (*BOTH, "tenth")]
        for which, of, file in zip((*BOTH, BOTH[0]), (whole, whole, tenth), files, strict=True):
            copied(which, "export.parquet", *of, file)
        ours, bare, small = (Recording(str(file), "again") for file in files)
        yield from compared(name, "import.parquet", {"ours": ours, "bare": bare}, small, rounds, home)


def main() -> None:
    """Print one line for each measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.archive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--engine", choices=["sqlite", "kafka"], help="only this one")
    parser.add_argument("--quick", action="store_true", help="few groups, one round")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--kafka", metavar="HOST:PORT", help="a cluster (default: KAFKA_BOOTSTRAP, or a node)"
    )
    parser.add_argument("--directory", type=Path, default=Path("runs"), help="where files go meanwhile")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    count, rounds = (1_000, 1) if options.quick else (100_000, 3)
    with ExitStack() as stack:
        try:
            for name in [options.engine] if options.engine else ["sqlite", "kafka"]:
                home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.directory))).resolve()
                if name == "sqlite":
                    # a bare copy takes the whole table: each run has a file of its own
                    urls = f"sqlite:///{home}/whole/stream.db", f"sqlite:///{home}/tenth/stream.db"
                else:
                    servers = stack.enter_context(cluster(options.kafka, options.directory))
                    urls = f"kafka://{servers}", f"kafka://{servers}"
                found = measured(name, urls, count, rounds, home)
                show(
                    ((row, None if options.quick else wanted) for row, wanted in found), as_json=options.json
                )
        except BrokerError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
