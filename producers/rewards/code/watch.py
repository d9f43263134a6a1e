"""A run that is watched until it ends or has to be ended.

The program is on the other side of two pipes. Whatever it does, the bytes that are read are bounded, and so
is the time; what it says is an answer and nothing more.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from producers.rewards.code.runner import READY
from producers.rewards.code.sandbox import NotStarted

START_SECONDS = 30.0
"""By the clock, until the interpreter is there."""
TICK_SECONDS = 0.02
ERROR_BYTES = 65_536
_READ = 65_536
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

End = Literal["left", "signal", "cpu", "clock", "output", "stopped", "unready", "killed"]
"""left: by itself, with a status. signal: ended by one. cpu, clock, output: used up what it was allowed.
stopped: by who reads it. unready: the program was never reached. killed: the sandbox was, from outside."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may use: `test` for each line, where lines are read as they come, `run` in all."""

    test_cpu_seconds: float
    test_clock_seconds: float
    run_cpu_seconds: float
    run_clock_seconds: float
    output_bytes: int


@dataclass(slots=True)
class Run:
    """What came of it."""

    end: End = "left"
    status: int = 0
    """Exit status, or the signal's number."""
    output: bytes = b""
    """What was printed; what is left of it, where lines were read as they came."""
    errors: bytes = b""
    cpu_seconds: float = 0.0
    clock_seconds: float = 0.0


@dataclass
class Watch:
    """Reads a process until it ends or has to be ended."""

    process: "subprocess.Popen[bytes]"
    generations: int
    allowed: Allowance
    line: Callable[[bytes], bool] | None
    run: Run = field(default_factory=Run)
    ready: bool = False
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    read: int = 0
    program: int | None = None
    started: float = field(default_factory=time.monotonic)
    """By the clock: the sandbox, then the program."""
    began: float = 0.0
    """The line that is waited for."""
    spent: float = 0.0
    """CPU seconds up to then."""
    feed: int | None = None
    """A pipe that does not block, where the process is told things as it goes."""
    told: bytearray = field(default_factory=bytearray)
    """What has not gone into it yet."""

    def until_the_end(self) -> Run:
        """What came of it. Raises NotStarted."""
        end = self.watched()
        kill_all(self.process)
        if end is None:
            self.run.end, self.run.status = self._how_it_left()
        else:
            self.run.end = end
        self.run.clock_seconds = time.monotonic() - self.started
        self.run.output, self.run.errors = bytes(self.output), bytes(self.errors)
        self._check_start()
        return self.run

    def watched(self) -> End | None:
        """Why the process has to be ended; None when it ends by itself."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out, errors = self.process.stdout.fileno(), self.process.stderr.fileno()
        over = os.pidfd_open(self.process.pid)
        with selectors.DefaultSelector() as selector:
            try:
                for pipe in (out, errors):
                    os.set_blocking(pipe, False)
                    selector.register(
                        pipe, selectors.EVENT_READ, partial(self._drain, pipe, stdout=pipe == out)
                    )
                if self.feed is not None:
                    selector.register(self.feed, selectors.EVENT_WRITE, partial(self._tell, self.feed))
                selector.register(over, selectors.EVENT_READ)
                while True:
                    events = selector.select(TICK_SECONDS)
                    ended = any(key.fd == over for key, _ in events)
                    for key in [key for key in selector.get_map().values() if key.fd != over]:
                        if not key.data():
                            selector.unregister(key.fd)
                    if (reason := self._overdrawn()) or ended:
                        return reason
            finally:
                os.close(over)

    def _tell(self, pipe: int) -> bool:
        """Write what there is to be told, as far as there is room; False when all of it is on its way."""
        try:
            del self.told[: os.write(pipe, self.told[:_READ])]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self.told.clear()
        return bool(self.told)

    def _drain(self, pipe: int, *, stdout: bool) -> bool:
        """Read what is there, within the allowance; False at the end of the pipe."""
        while self.read <= self.allowed.output_bytes:
            try:
                data = os.read(pipe, _READ)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.read += len(data)
            if stdout:
                self.output += data
            elif len(self.errors) < ERROR_BYTES:
                self.errors += data
        return True

    def _overdrawn(self) -> End | None:
        if not self.ready and not self._reached():
            return "unready" if time.monotonic() - self.started > START_SECONDS else None
        if self.line is not None and not self._lines_taken(self.line):
            return "stopped"
        if self.read > self.allowed.output_bytes:
            return "output"
        return self._out_of_time()

    def _out_of_time(self) -> End | None:
        self._look_at_the_cpu()
        cpu, now = self.run.cpu_seconds, time.monotonic()
        if cpu - self.spent > self.allowed.test_cpu_seconds or cpu > self.allowed.run_cpu_seconds:
            return "cpu"
        late = now - self.began > self.allowed.test_clock_seconds
        return "clock" if late or now - self.started > self.allowed.run_clock_seconds else None

    def _reached(self) -> bool:
        if self.output.startswith(READY):
            del self.output[: len(READY)]
            self.ready, self.started = True, time.monotonic()
            self.began = self.started
        return self.ready

    def _lines_taken(self, line: Callable[[bytes], bool]) -> bool:
        while (end := self.output.find(b"\n")) >= 0:
            found = bytes(self.output[:end])
            del self.output[: end + 1]
            self._look_at_the_cpu()
            self.began, self.spent = time.monotonic(), self.run.cpu_seconds
            if not line(found):
                return False
        return True

    def _look_at_the_cpu(self) -> None:
        if self.program is None:
            self.program = _descendant(self.process.pid, self.generations)
        if self.program is not None:
            self.run.cpu_seconds = max(self.run.cpu_seconds, _cpu_seconds(self.program))

    def _how_it_left(self) -> tuple[End, int]:
        code = self.process.wait()
        if code < 0 and self.generations:
            return "killed", -code
        if code < 0 or code > 128:
            number = -code if code < 0 else code - 128
            return ("cpu" if number == signal.SIGXCPU else "signal"), number
        return "left", code

    def _check_start(self) -> None:
        if self.run.end == "killed":
            raise NotStarted(f"the sandbox was killed from outside by signal {self.run.status}")
        if not self.ready:
            said = self.run.errors.decode(errors="replace").strip()
            raise NotStarted(
                f"the sandbox did not start: {said[-500:] or f'it ended with {self.run.status}'}"
            )


def kill_all(process: "subprocess.Popen[bytes]") -> None:
    """End a process that nobody has waited for, and its group: a sandbox that starts does not die with it.

    One that has started does, and nothing in there can start what does not.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _descendant(process: int, generations: int) -> int | None:
    """The only child of the only child, so many times; None while it is not there."""
    for _ in range(generations):
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:
            return None
        if not children:
            return None
        process = int(children[0])
    return process


def _cpu_seconds(process: int) -> float:
    """CPU time of a process and of the children that it waited for; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _CLOCK_TICKS
