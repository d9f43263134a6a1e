"""Reading question files: rows a second and memory, beside a bare loop over the same file.

    python -m benchmarks.datasets
    python -m benchmarks.datasets --json

A row has about 2 kB. Speed is in rows a second, median of interleaved rounds: ours checks, indexes, spools to
disk and computes the digest, the baseline only parses. Memory is the growth of a fresh process's peak by the
rows, at a small file and one ten times as large, in MB; the baseline keeps the parsed rows in a list.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.rows import Finding, Wanted, row, show

FORMATS = ("jsonl", "parquet")
PROGRAM = """
import json, resource, sys, time
from pathlib import Path
path, which = Path(sys.argv[1]), sys.argv[2]
if path.suffix == ".parquet":
    import pyarrow.parquet
from producers.datasets.base import DataConfig
from producers.datasets.reading import read
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
if which == "ours":
    rows = read(path, DataConfig(train=path), "data.train").rows
elif path.suffix == ".parquet":
    rows = pyarrow.parquet.read_table(path).to_pylist()
else:
    with path.open() as file:
        rows = [json.loads(line) for line in file]
seconds = time.perf_counter() - began
print(len(rows) / seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def write(path: Path, rows: int) -> None:
    """A file of so many questions."""
    questions = ({"question": f"{n} " + "what is it? " * 150, "answer": str(n)} for n in range(rows))
    if path.suffix == ".jsonl":
        with path.open("w") as file:
            file.writelines(json.dumps(question) + "\n" for question in questions)
        return
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([("question", pyarrow.string()), ("answer", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as file:
        for _ in range(0, rows, 1000):
            part = [question for _, question in zip(range(1000), questions, strict=False)]
            file.write_table(pyarrow.Table.from_pylist(part, schema))


def run(path: Path, which: str) -> tuple[float, float]:
    """Rows a second and megabytes of one reading in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), which], capture_output=True, text=True, check=True
    )
    speed, megabytes = map(float, done.stdout.split())
    return speed, megabytes


def measured(directory: Path, rows: int, rounds: int) -> Iterator[Finding]:
    """Both formats, a small and a large file."""
    for form in FORMATS:
        small, large = directory / f"small.{form}", directory / f"large.{form}"
        write(small, rows)
        write(large, 10 * rows)
        found = [{which: run(large, which) for which in ("ours", "bare")} for _ in range(rounds)]

        def of(pick: Callable[[tuple[float, float]], float], which: str, found: list = found) -> float:
            return median(pick(one[which]) for one in found)

        yield (
            row(f"datasets.{form}.rows", of(lambda r: r[0], "ours"), "rows/s", of(lambda r: r[0], "bare")),
            None,
        )
        yield row(f"datasets.{form}.memory.small", run(small, "ours")[1], "MB", run(small, "bare")[1]), None
        yield (
            row(
                f"datasets.{form}.memory.large", of(lambda r: r[1], "ours"), "MB", of(lambda r: r[1], "bare")
            ),
            Wanted("value", "at most", 200),
        )
        small.unlink()
        large.unlink()


def main() -> None:
    """Print one line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="small files, one round")
    options = parser.parse_args()
    rows, rounds = (2000, 1) if options.quick else (30_000, 3)
    with tempfile.TemporaryDirectory() as directory:
        show(measured(Path(directory), rows, rounds), as_json=options.json)


if __name__ == "__main__":
    main()
