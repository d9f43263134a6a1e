"""A program against the tests of its question: a run of the sandbox for each, or one for all calls."""

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from mentor_stream.answers.programs import Test
from producers.rewards.base import Unscorable
from producers.rewards.code.comparison import same_output, same_value
from producers.rewards.code.config import Config
from producers.rewards.code.execution import Job, execute
from producers.rewards.code.program import preamble
from producers.rewards.code.sandbox import Sandbox
from producers.rewards.code.watch import Allowance, Run

CLOCK_FACTOR = 3
"""Seconds by the clock for each CPU second allowed: other processes want the cores, too."""
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""What a program may have sent to itself, or somebody else to it."""


class Outcome(NamedTuple):
    """What became of one test. `doubtful`: every time in a way that might be the machine's doing, too."""

    passed: bool
    remark: str = ""
    doubtful: bool = False


class Trial:
    """One program on trial. Raises NotStarted where the sandbox fails, twice."""

    def __init__(self, sandbox: Sandbox, config: Config, program: str, function: str | None) -> None:
        self._sandbox, self._config, self._function = sandbox, config, function or ""
        self._program, self._preamble = program, preamble(program)
        self._cpu = self._clock = 0.0

    def outcomes(self, tests: Sequence[Test]) -> Iterator[Outcome]:
        """One for each test, in order; those who want no more stop asking. Costs nothing once time is up."""
        done = 0
        while done < len(tests):
            if self._spent():
                yield Outcome(False, f"takes more than {self._config.total_seconds:g} s for all tests", True)
                return
            found = self._next(tests[done:])
            yield from found
            done += len(found)

    def _next(self, tests: Sequence[Test]) -> list[Outcome]:
        """Outcomes of the first tests, one at least."""
        if tests[0].kind == "stdin":
            outcome = self._printed(tests[0])
            return [self._printed(tests[0]) if outcome.doubtful else outcome]
        calls = list(takewhile(lambda test: test.kind == "functional", tests))
        found = self._returned(calls)
        if found[-1].doubtful:
            found[-1:] = self._returned(calls[len(found) - 1 : len(found)])
        return found

    def _printed(self, test: Test) -> Outcome:
        run = self._run(Job(self._preamble, self._program), test.input.encode(errors="surrogatepass"))
        if run.end != "left" or run.status:
            return failed(run, self._config)
        if same_output(run.output.decode(errors="surrogateescape"), test.output):
            return Outcome(True)
        return Outcome(
            False, "prints something else than expected" if run.output.strip() else "prints nothing"
        )

    def _returned(self, tests: Sequence[Test]) -> list[Outcome]:
        """Outcomes of calls in one process, up to the first that did not come back, or the first failure."""
        job = Job(self._preamble, self._program, self._function, [arguments(test) for test in tests])
        found: list[Outcome] = []
        onward = self._config.reward == "fraction"

        def line(answer: bytes) -> bool:
            found.append(answered(answer, tests[len(found)]))
            return len(found) < len(tests) and (found[-1].passed or onward)

        run = self._run(job, b"", line)
        if run.end != "stopped" and len(found) < len(tests):
            found.append(failed(run, self._config))
        return found

    def _run(self, job: Job, given: bytes, line: Callable[[bytes], bool] | None = None) -> Run:
        config = self._config
        cpu = config.total_seconds - self._cpu
        clock = CLOCK_FACTOR * config.total_seconds - self._clock
        test = config.test_seconds
        allowed = Allowance(test, CLOCK_FACTOR * test, cpu, clock, config.output_megabytes * 2**20)
        run = execute(self._sandbox, job, allowed, given, line)
        self._cpu += run.cpu_seconds
        self._clock += run.clock_seconds
        return run

    def _spent(self) -> bool:
        total = self._config.total_seconds
        return self._cpu >= total or self._clock >= CLOCK_FACTOR * total


def failed(run: Run, config: Config) -> Outcome:
    """A run that did not come to its end, in words."""
    test = config.test_seconds
    if run.end == "cpu":
        return Outcome(False, f"takes more than {test:g} CPU seconds", True)
    if run.end == "clock":
        return Outcome(False, f"takes more than {CLOCK_FACTOR * test:g} s by the clock", True)
    if run.end == "output":
        return Outcome(False, f"prints more than {config.output_megabytes} MB")
    if run.end == "signal":
        return Outcome(False, f"is ended by {_signal(run.status)}", run.status in _FROM_OUTSIDE)
    said = _last_line(run.errors) if run.status else ""
    return Outcome(False, said or f"ends with status {run.status} before it has answered")


def check_the_machine(sandbox: Sandbox, config: Config) -> None:
    """Nobody is condemned for time on a machine that has none. Raises NotStarted, Unscorable."""
    clock = CLOCK_FACTOR * config.test_seconds
    allowed = Allowance(config.test_seconds, clock, config.test_seconds, clock, 1000)
    began = time.monotonic()
    run = execute(sandbox, Job("", "pass"), allowed)
    if run.end != "left" or time.monotonic() - began > max(1.0, clock / 4):
        raise Unscorable("this machine is too busy to hold any program to its time")


def arguments(test: Test) -> str:
    """A functional test's arguments as one line of JSON. Raises ValueError when they are none."""
    return json.dumps([json.loads(line) for line in test.input.split("\n") if line.strip()])


def answered(answer: bytes, test: Test) -> Outcome:
    """What the runner, or the program in its place, says that a call came to."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Outcome(False, "returns what cannot be read")
    if "value" in found:
        same = same_value(found["value"], test.output)
        return Outcome(same, "" if same else "returns another value than expected")
    error = found.get("error")
    return Outcome(False, _printable(error) if isinstance(error, str) else "returns what cannot be read")


def _last_line(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return _printable(lines[-1]) if lines else ""


def _printable(text: str, length: int = 300) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:length])


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"status {number + 128}"
