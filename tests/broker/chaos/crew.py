"""A worker's place: one process works there, and when it is killed another one goes on where it was."""

import multiprocessing
import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.broker.chaos.journal import Acknowledged, Entry, now, read
from tests.broker.chaos.workers import Job, consume, produce, watch

PATIENCE_SECONDS = 120.0
"""A worker that has done nothing for so long is stuck. A busy machine must not make it look so."""
PROGRESS_BYTES = 2_000
"""With so much more in its journal, some ten messages, a worker counts as at work."""

# a process forked from one that has imported everything starts in no time
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "__main__",
        "anyio._backends._trio",
        "mentor_stream.broker.kafka",
        "mentor_stream.broker.sqlite",
        "tests.broker.chaos.workers",
    ]
)


class Place:
    """A producer of these keys, a consumer, or the watcher; `job.journal` is where journals are to lie."""

    def __init__(self, role: str, number: int, job: Job, keys: Iterable[str] = ()) -> None:
        self.role = role
        self.wakes_at: float | None = None
        self.started_at = 0.0
        self._name, self._job = f"{role}{number}", job
        self._numbers = dict.fromkeys(keys, 0)
        self._incarnation = self._mark = 0
        self._process: ForkServerProcess

    @property
    def member(self) -> str:
        """The process that works here now."""
        return f"{self._name}.{self._incarnation}"

    @property
    def at_work(self) -> bool:
        """Whether it has done something since it was started or woken, or marked."""
        return self.wakes_at is None and self._written() >= self._mark + PROGRESS_BYTES

    def mark(self) -> None:
        """What it has done so far does not count any more."""
        self._mark = self._written()

    def start(self) -> None:
        """Put a new process to work."""
        self._incarnation += 1
        self._mark, self.wakes_at, self.started_at = 0, None, now()
        job = replace(self._job, journal=self._path("journal"))
        match self.role:
            case "producer":
                self._process = _FORKS.Process(target=produce, args=(job, self._numbers), daemon=True)
            case "consumer":
                self._process = _FORKS.Process(target=consume, args=(job,), daemon=True)
            case _:
                self._process = _FORKS.Process(target=watch, args=(job,), daemon=True)
        self._process.start()

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def check(self) -> None:
        """Raises AssertionError when the process ended by itself."""
        assert self._process.exitcode is None, f"{self.member} ended by itself:\n{self.complaints()}"

    def ended(self, status: int) -> list[Entry]:
        """Wait for the process, which was told to end with this status; what it has written down."""
        self._process.join(PATIENCE_SECONDS)
        ended = f"{self.member} ended with {self._process.exitcode} where {status} was due"
        assert self._process.exitcode == status, f"{ended}:\n{self.complaints()}"
        entries = read(self._path("journal"))
        self._numbers |= {entry.key: entry.number + 1 for entry in entries if isinstance(entry, Acknowledged)}
        return entries

    @property
    def state(self) -> str:
        """How the kernel sees the process: running, sleeping, stopped..."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return status.partition("State:")[2].partition("\n")[0].strip()

    def complaints(self) -> str:
        """The end of what it wrote to standard error."""
        path = self._path("stderr")
        return path.read_text()[-10_000:] if path.exists() else ""

    def close(self) -> None:
        """Let no process stay behind."""
        self._process.kill()
        self._process.join()

    def _path(self, kind: str) -> Path:
        return self._job.journal / f"{self.member}.{kind}"

    def _written(self) -> int:
        path = self._path("journal")
        return path.stat().st_size if path.exists() else 0
