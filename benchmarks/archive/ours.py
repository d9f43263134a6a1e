"""python -m benchmarks.archive.ours WAY SOURCE RUN TARGET: a copy; prints groups a second, MB of growth."""

import json
import resource
import sys
import time
from pathlib import Path

from consumers.archive import parquet, tool

_ = parquet  # what is imported late is no part of a copy


def megabytes() -> float:
    """The most that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(way: str, source: str, run: str, target: str) -> None:
    """Make it, and print."""
    before, began = megabytes(), time.perf_counter()
    if way == "import.parquet":
        done = tool.restore(_nobody, Path(source), tool.url(Path(target)), run)
    else:
        done = tool.export(
            _nobody, url=source, run=run, path=Path(target), topics=["collapsed"], config=None, batches=None,
            since=None, until=None, force=False,
        )  # fmt: skip
    print(json.dumps([done["messages"] / (time.perf_counter() - began), megabytes() - before]))


def _nobody(*_: object) -> None:
    """Is told how far it is."""


if __name__ == "__main__":
    main(*sys.argv[1:])
