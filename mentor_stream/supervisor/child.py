"""One component as a process that is kept alive."""

import os
import random
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from subprocess import PIPE, STDOUT

import anyio
import anyio.abc

from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.restarts import deaths_within_window, is_hopeless, restart_delay

LAST_LINES = 15


class State(Enum):
    """What a component is doing, as far as its supervisor knows."""

    WAITING = "waiting"
    RUNNING = "running"
    BACKING_OFF = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"


class GaveUp(Exception):
    """A component that keeps dying; the text says which, how, and what it said last."""


@dataclass
class Child:
    """A component, its process while there is one, and its history."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    inherited: int
    """The descriptor that the process keeps open for as long as it lives."""
    config: SupervisorConfig
    note: Callable[[str], None]
    """Told about every death and restart, in words."""
    essential: bool = True
    """Whether the run stops when this keeps dying. One that is not is tried again, at the longest pause."""
    state: State = State.WAITING
    deaths: list[float] = field(default_factory=list[float])
    process: anyio.abc.Process | None = None

    async def keep_alive(self, is_over: Callable[[int], Awaitable[bool]]) -> None:
        """Run the component, again whenever it dies, until `is_over` of its exit code (negative: a signal).

        Cancelled, it stops the process: SIGTERM, then after the grace SIGKILL. Raises GaveUp when an
        essential component died too often, or of what it would die of again.
        """
        while True:
            code = await self._run_once()
            if await is_over(code):
                self.state = State.FINISHED
                return
            await self._back_off(code)

    def send(self, message: signal.Signals) -> None:
        """Pass a signal on, if there is a process."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(message)

    def kill(self) -> None:
        """End the process and all that it started, at once."""
        if self.process is not None:
            _kill_group(self.process.pid)

    async def _run_once(self) -> int:
        with self.log.open("ab") as log:
            self.process = await anyio.open_process(
                self.command,
                stdin=PIPE,
                stdout=log,
                stderr=STDOUT,
                env=self.environment,
                # In a session of its own: Ctrl-C reaches the supervisor alone, which stops everyone in order.
                start_new_session=True,
                pass_fds=(self.inherited,),
            )
        self.state = State.RUNNING
        try:
            return await self.process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(self.process)

    async def _end(self, process: anyio.abc.Process) -> None:
        if process.returncode is None:
            self.state = State.STOPPING
            process.terminate()
            with anyio.move_on_after(self.config.grace_seconds):
                await process.wait()
        if process.returncode is None:
            self.note(f"{self.name} did not stop within {self.config.grace_seconds:g} s and was killed")
        # Also after an orderly end: what a killed component had started must not outlive it.
        _kill_group(process.pid)
        await process.wait()
        self.state = State.STOPPED
        self.process = None
        assert process.stdin is not None
        await process.stdin.aclose()

    async def _back_off(self, code: int) -> None:
        self.deaths.append(anyio.current_time())
        delay = restart_delay(self.deaths, self.config, jitter=random.random())  # noqa: S311
        if delay is None or is_hopeless(code):
            self.state = State.FAILED
            if self.essential:
                raise GaveUp(self._last_words(code))
            delay = self.config.backoff_max_seconds
        else:
            self.state = State.BACKING_OFF
        self.note(f"{self.name} {how_it_ended(code)}; restart in {delay:.1f} s ({self.log})")
        await anyio.sleep(delay)

    def _last_words(self, code: int) -> str:
        said = "\n".join(f"    {line}" for line in last_lines(self.log, LAST_LINES)) or "    (nothing)"
        return f"{self._history(code)}.\nThe end of its log, {self.log}:\n{said}"

    def _history(self, code: int) -> str:
        if is_hopeless(code):
            return f"{self.name} {how_it_ended(code)}: what its log names must be mended before it can run"
        deaths = deaths_within_window(self.deaths, self.config)
        return (
            f"{self.name} died {deaths} {'time' if deaths == 1 else 'times'} within "
            f"{self.config.restart_window_seconds:g} s (supervisor.restarts is {self.config.restarts}); "
            f"the last time it {how_it_ended(code)}"
        )


def how_it_ended(code: int) -> str:
    """A process's exit code in words."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        return f"was killed by {name}{hint}"
    if code == 0:
        return "ended before the run was over"
    if code > 128 and code - 128 in set(signal.Signals):
        return f"was stopped from outside by {signal.Signals(code - 128).name}"
    return f"ended with exit code {code}"


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log file, of its last 16 KiB."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 2**14))
        return file.read().decode(errors="replace").splitlines()[-count:]


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
