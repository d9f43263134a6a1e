"""The mentor against an endpoint that takes two seconds for a reply.

    python -m benchmarks.mentor                   # about eight minutes
    python -m benchmarks.mentor --quick --json    # a minute: whether it works, no verdict

Leave the machine alone meanwhile: at 512 requests in flight the openai client alone wants a core.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.mentor.memory import memory
from benchmarks.mentor.throughput import against_bare, against_latency, of_several
from benchmarks.rows import Finding, show


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mentor",
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
    findings = _quick(options.directory) if options.quick else _full(options.directory)
    show(findings, as_json=options.json)


def _full(directory: Path) -> Iterator[Finding]:
    yield from against_latency(directory, 8, turns=12)
    yield from against_latency(directory, 64, turns=12)
    yield from against_bare(directory, 512, turns=8, rounds=3)
    yield from of_several(directory, 512, turns=8, mentors=(1, 2, 4))
    yield from memory(directory, 100_000)


def _quick(directory: Path) -> Iterator[Finding]:
    """Too little to say what is kept."""
    some = (
        *against_latency(directory, 8, turns=1),
        *against_bare(directory, 16, turns=1, rounds=1),
        *of_several(directory, 8, turns=1, mentors=(1, 2)),
        *memory(directory, 3_000),
    )
    yield from ((found, None) for found, _ in some)


if __name__ == "__main__":
    main()
