"""Policies into a store and out of it, against bare s3fs with the same file: S3 (moto) on this machine.

put: files and manifest, with the look whether it is there already. fetch: into an empty cache, every byte
digested and synced. held: what is in the cache already, against digesting it.

python -m benchmarks.snapshots --json
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.rows import Finding, Wanted, row, show
from mentor_stream import snapshots
from mentor_stream.snapshots import cache
from mentor_stream.snapshots.store import Store, deadline, name_of

SERVER = (
    "from moto.server import ThreadedMotoServer as Server; import sys\n"
    "server = Server(ip_address='127.0.0.1', port=0, verbose=False); server.start()\n"
    "print(server.get_host_and_port()[1], flush=True); sys.stdin.read()"
)
URL = "s3://bucket/run"


@contextmanager
def store() -> Generator[Any]:
    """An empty one, known to the environment; bare s3fs on it."""
    import fsspec

    command, pipe = [sys.executable, "-c", SERVER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.stdout.readline().strip()}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        bare = fsspec.filesystem("s3", use_listings_cache=False)
        bare.mkdir("bucket")
        yield bare
        server.stdin.close()


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_round(home: Path, bare: Any, version: int, megabytes: int) -> dict[str, tuple[float, float]]:
    """Seconds of ours and of the bare way, with a snapshot of its own."""

    def fill(draft: Path) -> None:
        (draft / "model.safetensors").write_bytes(os.urandom(megabytes * 2**20))

    path, digest = snapshots.write(home, version, fill)
    name, file, there = name_of(version, digest), path / "model.safetensors", Store(URL, deadline(600))
    uri, plain, copy = f"{URL}/{name}", "bucket/bare", home / "copy"
    found = {
        "put": (
            seconds(lambda: there.put(path, name, digest)),
            seconds(lambda: bare.put_file(str(file), plain)),
        ),
        "fetch": (
            seconds(lambda: snapshots.hold(uri, digest).close()),
            seconds(lambda: bare.get_file(plain, str(copy))),
        ),
        "held": (
            seconds(lambda: snapshots.hold(uri, digest).close()),
            seconds(lambda: snapshots.verify(path, digest)),
        ),
    }
    there.remove(name)
    shutil.rmtree(path)
    return found


def measured(home: Path, megabytes: int, rounds: int) -> Generator[Finding]:
    """Medians of interleaved rounds."""
    os.environ[cache.ENVIRONMENT] = str(home / "cache")
    with store() as bare:
        found = [one_round(home, bare, version, megabytes) for version in range(rounds)]

    def medians(what: str) -> tuple[float, float]:
        return median(one[what][0] for one in found), median(one[what][1] for one in found)

    for what in ("put", "fetch"):
        ours, theirs = medians(what)
        yield row(f"snapshots.{what}", megabytes / ours, "MB/s", megabytes / theirs), None
    ours, theirs = medians("held")
    yield row("snapshots.held", ours * 1000, "ms", theirs * 1000), Wanted("value", "at most", 50)


def main() -> None:
    """Print one line per direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="small, to see whether it runs")
    asked = parser.parse_args()
    megabytes, rounds = (2, 1) if asked.quick else (300, 5)
    with TemporaryDirectory() as home:
        show(measured(Path(home), megabytes, rounds), as_json=asked.json)


if __name__ == "__main__":
    main()
