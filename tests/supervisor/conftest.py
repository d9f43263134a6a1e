"""Runs of stand-ins under a real supervisor process."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@dataclass
class Supervised:
    """A run's directory and the supervisors started in it."""

    directory: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def up(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        """Start `up` over stand-ins, or over `command` as every component."""
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "tests.supervisor.up", str(self.directory / "config.toml"), *command],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(supervisor)
        return supervisor

    def log(self, name: str) -> str:
        path = self.directory / "out" / "logs" / f"{name}.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    """A run in a directory of its own; what still runs at the end is killed."""
    out = tmp_path / "out"
    (tmp_path / "config.toml").write_text(
        f"""
        [run]
        name = "small"
        directory = "{out}"
        broker = "sqlite:///{out}/stream.db"
        policy = "{tmp_path}"
        [supervisor]
        backoff_seconds = 0.05
        backoff_max_seconds = 5
        settle_seconds = 0.3
        restarts = 2
        view_seconds = 0.5
        """
    )
    run = Supervised(tmp_path)
    yield run
    for supervisor in run.started:
        for pid in children(supervisor.pid):
            os.kill(pid, signal.SIGKILL)
        supervisor.kill()
        with supervisor:  # closes the pipe and reaps
            pass


def children(parent: int) -> list[int]:
    """Living child processes, in the order in which they were started."""
    listed = [file.read_text().split() for file in Path("/proc").glob(f"{parent}/task/*/children")]
    return sorted(int(pid) for pids in listed for pid in pids if alive(int(pid)))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.02)


async def ending(supervisor: subprocess.Popen[str], seconds: float = 120) -> tuple[int, str]:
    """The exit code and the output of a supervisor that ends."""
    with anyio.fail_after(seconds):
        output, _ = await anyio.to_thread.run_sync(supervisor.communicate, abandon_on_cancel=True)
    return supervisor.returncode, output
