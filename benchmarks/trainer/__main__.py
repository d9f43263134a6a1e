"""The trainer's intake, its batches among ranks, its steps against others', its log-probs' memory.

    python -m benchmarks.trainer                   # about fifteen minutes
    python -m benchmarks.trainer --quick --json    # a minute: whether it works, no verdict

Rates are medians of rounds in which ours and others' take turns. Leave the machine alone meanwhile.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.rows import Finding, show
from benchmarks.trainer.load import Load
from mentor_stream.broker import BrokerError
from trainer.model import cpu, fp8, hardware

TINY = Load("tiny", hidden=128, layers=3, words=384, groups=16, prompt=12, completion=16)
SMALL = Load("small", hidden=256, layers=6, words=8192, groups=8, prompt=64, completion=256)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trainer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--directory", type=Path, default=Path("runs"), help="where streams are meanwhile (default: runs)"
    )
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    cpu.install()
    from trainer import ranks

    ranks.start(seed=0)
    findings = _quick(options.directory) if options.quick else _full(options.directory)
    show(findings, as_json=options.json)
    ranks.stop()


def _full(directory: Path) -> Iterator[Finding]:
    from benchmarks.trainer.intake import intake, on_sqlite
    from benchmarks.trainer.sharing import sharing
    from benchmarks.trainer.step import against_plain, packing
    from benchmarks.trainer.vocabulary import vocabulary_memory

    with on_sqlite(directory) as url:
        yield from intake("sqlite", url, groups=2000, rounds=5)
    yield from _through_kafka(directory)
    for count in (2, 4):
        yield from sharing(count)
    yield from packing(SMALL, rounds=7)
    yield from against_plain(TINY, rounds=21)
    yield from against_plain(SMALL, rounds=7)
    yield from _beside_trl()
    yield from _in_fp8()
    yield from vocabulary_memory()


def _through_kafka(directory: Path) -> Iterator[Finding]:
    from benchmarks.trainer.intake import intake, on_kafka

    try:
        with on_kafka(directory) as url:
            yield from intake("kafka", url, groups=2000, rounds=5)
    except BrokerError as error:
        sys.stderr.write(f"left out: trainer.intake.kafka: {error}\n")


def _beside_trl() -> Iterator[Finding]:
    from benchmarks.trainer.step import against_trl

    if find_spec("trl") is None:
        sys.stderr.write("left out: trainer.step.*.trl: TRL is not installed (pip install trl)\n")
        return
    yield from against_trl(TINY, rounds=21)
    yield from against_trl(SMALL, rounds=7)


def _in_fp8() -> Iterator[Finding]:
    from benchmarks.trainer.step import in_fp8

    if problem := fp8.problem(hardware.found(), "tensorwise"):
        sys.stderr.write(f"left out: trainer.step.*.fp8: {problem}\n")
        return
    yield from in_fp8(rounds=11)


def _quick(directory: Path) -> Iterator[Finding]:
    """Too little to say what is kept."""
    from benchmarks.trainer.intake import intake, on_sqlite
    from benchmarks.trainer.step import against_plain
    from benchmarks.trainer.vocabulary import vocabulary_memory

    with on_sqlite(directory) as url:
        some = (
            *intake("sqlite", url, groups=64, rounds=1),
            *against_plain(TINY, rounds=1),
            *vocabulary_memory(tokens=2048),
        )
    yield from ((found, None) for found, _ in some)


if __name__ == "__main__":
    main()
