"""The broker's engines against their bare clients, within one run.

    python -m benchmarks.broker                                  # both engines, about ten minutes
    python -m benchmarks.broker --engine sqlite --quick --json   # seconds: whether it works, no verdict
    python -m benchmarks.broker --engine kafka --kafka host:9092

Rates are medians of rounds in which ours and bare take turns. Leave the machine alone meanwhile.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.engines import Engine, Kafka, Sqlite, cluster
from benchmarks.broker.load import Load
from benchmarks.broker.loop_lag import loop_lag
from benchmarks.broker.memory import memory
from benchmarks.broker.throughput import appending, both_ways
from benchmarks.rows import Finding, show
from mentor_stream.broker import BrokerError


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    loads: tuple[Load, ...]
    others: dict[str, Load]
    """Sent in other ways: each record by a task of its own, and one after the other."""
    records: int
    """What goes through while memory is watched."""
    rounds: int


FULL = Plan(
    loads=(
        Load("65kB", 65 * 1024, count=2000, together=32),
        Load("1MB", 2**20, count=160, senders=64, together=8),
    ),
    others={
        "each-alone": Load("65kB", 65 * 1024, count=2000),
        "one-by-one": Load("65kB", 65 * 1024, count=200, senders=1),
    },
    records=100_000,
    rounds=11,  # one differs from the next by a third
)
QUICK = Plan(
    loads=(
        Load("65kB", 65 * 1024, count=200, together=32),
        Load("1MB", 2**20, count=80, senders=8, together=4),
    ),
    others={
        "each-alone": Load("65kB", 65 * 1024, count=200),
        "one-by-one": Load("65kB", 65 * 1024, count=20, senders=1),
    },
    records=2_000,
    rounds=1,
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.broker",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--engine", choices=["sqlite", "kafka"], help="only this one")
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--kafka", metavar="HOST:PORT", help="a cluster (default: KAFKA_BOOTSTRAP, or a node started here)"
    )
    parser.add_argument(
        "--directory", type=Path, default=Path("runs"),
        help="where files go meanwhile; a real disk: on tmpfs durability costs nothing (default: runs)",
    )  # fmt: skip
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            for engine in _engines(options, stack):
                findings = _measured(engine, QUICK if options.quick else FULL)
                # a little of everything is not enough to say what is kept
                findings = ((row, None if options.quick else wanted) for row, wanted in findings)
                show(findings, as_json=options.json)
        except BrokerError as error:
            sys.exit(str(error))


def _engines(options: argparse.Namespace, stack: ExitStack) -> Iterator[Engine]:
    if options.engine != "kafka":
        yield Sqlite(options.directory, "full")
        yield Sqlite(options.directory, "normal")
    if options.engine != "sqlite":
        yield Kafka(stack.enter_context(cluster(options.kafka, options.directory)))


def _measured(engine: Engine, plan: Plan) -> Iterator[Finding]:
    for load in plan.loads:
        yield from both_ways(engine, load, plan.rounds)
        yield from loop_lag(engine, load, plan.rounds)
    for how, load in plan.others.items():
        yield from appending(engine, how, load, plan.rounds)
    yield from memory(engine, plan.records)


if __name__ == "__main__":
    main()
