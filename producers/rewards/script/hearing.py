"""A program before its tests, once: what the tests ask goes to the program, and its answers go back."""

import json
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from producers.rewards.base import Unscorable
from producers.rewards.code.conversation import Conversation, conversation
from producers.rewards.code.execution import Job
from producers.rewards.code.sandbox import Sandbox
from producers.rewards.code.trial import CLOCK_FACTOR, Outcome, failed
from producers.rewards.code.watch import Allowance
from producers.rewards.script.config import Config
from producers.rewards.script.reference import Script

_INSIDE = Path(__file__).with_name("inside")
_PACKAGE = "producers.rewards.script.inside"


@dataclass
class Hearing:
    """What became of the tests, as far as they were held."""

    total: int = 0
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """Tests that were met."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def right(self) -> bool:
        """Whether all were."""
        return self.total > 0 and self.passed == self.total == len(self.outcomes)

    @property
    def doubtful(self) -> bool:
        """Whether it ended in a way that might be the machine's doing."""
        return any(outcome.doubtful for outcome in self.outcomes)

    @property
    def trouble(self) -> str:
        """The first thing that went wrong."""
        first = next((n for n, outcome in enumerate(self.outcomes) if not outcome.passed), None)
        if first is None:
            return f"{self.passed} of {self.total} tests were held"
        where = f"test {first + 1} of {self.total}: " if self.total else ""
        return f"{where}{self.outcomes[first].remark}"


def heard(sandbox: Sandbox, config: Config, script: Script, program: str, seconds: float) -> Hearing:
    """Try a program, for so many CPU seconds on either side, and three times as many by the clock.

    Raises NotStarted, and Unscorable when the tests fail without it.
    """
    token, shared = secrets.token_hex(16), config.isolation == "shared"
    task = script._asdict() | {"token": token, "program": program if shared else None}
    test, clock = config.test_seconds, CLOCK_FACTOR * config.test_seconds
    allowed = Allowance(test, clock, seconds, CLOCK_FACTOR * seconds, config.output_megabytes * 2**20)
    with ExitStack() as stack:
        sides = ("cases", "testing") if script.kind == "unittest" else ("testing",)
        tests = stack.enter_context(conversation(sandbox, _job(sides, "test", task), allowed))
        served = _job(("serving",), "serve", script.context, program)
        one = None if shared else stack.enter_context(conversation(sandbox, served, allowed))
        return _Court(config, token.encode(), tests, one).heard()


@dataclass
class _Court:
    """Between the two sides."""

    config: Config
    token: bytes
    tests: Conversation
    program: Conversation | None
    """None where it is with its tests."""
    found: Hearing = field(default_factory=Hearing)
    asked: bool = False

    def heard(self) -> Hearing:
        answer = None
        while not self._over():
            line = self.tests.ask(answer)
            answer = None
            if line is None:
                self._fell_silent()
            elif line.startswith(self.token):
                answer = self._take(line.removeprefix(self.token))
            # what has no token is the program's, where it is with its tests
        return self.found

    def _over(self) -> bool:
        outcomes = self.found.outcomes
        failing = bool(outcomes) and not outcomes[-1].passed
        last = bool(outcomes) and len(outcomes) >= self.found.total
        return last or (failing and (self.config.reward == "all" or outcomes[-1].doubtful))

    def _take(self, said: bytes) -> bytes | None:
        """Something that the tests' side says; what to answer."""
        kind, text = said[:1], said[1:]
        if kind == b"?":
            return self._answer(text)
        words = "".join(c if c.isprintable() else " " for c in text.decode(errors="replace"))
        if kind == b"!":
            raise Unscorable(f"the tests cannot be held: {words}")
        if kind == b"#":
            self.found.total = int(text)
            if not self.found.total:
                raise Unscorable("the reference holds no tests")
        else:
            self.found.outcomes.append(Outcome(kind == b"+", words))
        return None

    def _answer(self, question: bytes) -> bytes | None:
        """The program's answer, in its own words, whatever they are."""
        self.asked = True
        assert self.program is not None
        answer = self.program.ask(question)
        if answer is None:
            self._end(failed(self.program.end(), self.config))
        return answer

    def _fell_silent(self) -> None:
        """The tests' side ended. With what the program answered it may have been made to."""
        found = failed(self.tests.end(), self.config)
        if self.program is not None and not self.asked:
            raise Unscorable(f"the tests cannot be held: {found.remark}")
        self._end(
            found
            if self.program is None
            else found._replace(remark=f"with what it returns, a test {found.remark}")
        )

    def _end(self, outcome: Outcome) -> None:
        """No other test will be held."""
        outcomes = self.found.outcomes
        missing = max(1, self.found.total - len(outcomes))
        outcomes += [outcome] * missing


def _job(sides: tuple[str, ...], function: str, *arguments: object) -> Job:
    """One side's function, called with plain arguments."""
    given = json.dumps(arguments)
    return Job(_modules("values", "running", *sides), f"{function}(*__import__('json').loads({given!r}))")


@cache
def _modules(*names: str) -> str:
    """Code that makes modules of inside/ known by their names, and what the last defines."""
    sources = {f"{_PACKAGE}.{name}": (_INSIDE / f"{name}.py").read_text() for name in names}
    return (
        "import sys, types\n"
        f"for name, source in {sources!r}.items():\n"
        "    sys.modules[name] = module = types.ModuleType(name)\n"
        "    exec(compile(source, name, 'exec'), vars(module))\n"
        "globals().update(vars(module))"
    )
