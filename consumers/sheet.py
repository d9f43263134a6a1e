"""What a language model is told of one case: fenced, within lengths, and within its context. No I/O."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from consumers import evidence
from consumers.calls import AgentError
from consumers.chat import Asking, tokens
from consumers.chat.templates import Prompt, fence
from consumers.guides.base import Case
from mentor_stream.answers.programs import Test
from schemas import Trajectory

DOMAINS = ("math", "code")
OVERHEAD = 200
"""Tokens of a request beside its texts: the chat template, the schema."""
LEAST_ATTEMPT = 400
LEAST_DATUM = 250
TESTS_SHOWN = 6
TEST_CHARACTERS = 300


@dataclass(frozen=True)
class Lengths:
    """How much is shown."""

    attempts: int
    attempt: int
    """Characters of one attempt."""
    datum: int = 32_000
    """Characters of anything else: question, reference, solution, a hint."""


def shorter(lengths: Lengths) -> Iterator[Lengths]:
    """These lengths, then ever smaller ones: shorter attempts, then fewer, then less of everything else."""
    yield lengths
    while lengths.attempt > LEAST_ATTEMPT:
        lengths = replace(lengths, attempt=max(LEAST_ATTEMPT, lengths.attempt // 2))
        yield lengths
    while lengths.attempts > 1:
        lengths = replace(lengths, attempts=lengths.attempts - 1)
        yield lengths
    while lengths.datum > LEAST_DATUM:
        lengths = replace(lengths, datum=max(LEAST_DATUM, lengths.datum // 2))
        yield lengths


@dataclass(frozen=True)
class Sheet:
    """One case, for one agent."""

    case: Case
    lengths: Lengths
    attempts: Sequence[Trajectory] = ()
    """Those to choose from, the most telling first."""

    def question(self) -> dict[str, str]:
        """What everybody is told."""
        return {
            "question": self.datum("question", self.case.query.question),
            "earlier": self.listed("earlier-hint", self.case.earlier),
        }

    def evidence(self) -> dict[str, str]:
        """What only agents are told that do not write the hint."""
        shown = self.attempts[: self.lengths.attempts]
        texts = [evidence.shown(attempt, self.lengths.attempt) for attempt in shown]
        ends = "\n".join(evidence.endings(self.case.group)[:TESTS_SHOWN])
        solution = self.case.query.solution
        return self.question() | {
            "reference": self._reference(),
            "solution": self.datum("worked-solution", solution) if solution else "",
            "shown": str(len(shown)),
            "total": str(len(self.case.group.trajectories)),
            "attempts": "\n\n".join(fence(f"attempt-{n}", text) for n, text in enumerate(texts, start=1)),
            "endings": self.datum("endings", ends) if ends else "(not known)",
        }

    def listed(self, name: str, texts: Sequence[str]) -> str:
        """Texts of one kind, numbered from 1."""
        return "\n".join(self.datum(f"{name}-{n}", text) for n, text in enumerate(texts, start=1)) or "(none)"

    def datum(self, name: str, text: str) -> str:
        """A text that somebody wrote."""
        return fence(name, evidence.trim(text, self.lengths.datum))

    def _reference(self) -> str:
        tests = evidence.tests_of(self.case.query)
        if tests is None:
            return self.datum("answer", self.case.query.reference)
        remarks = [attempt.remark for attempt in self.case.group.trajectories]
        return self.datum("tests", _tests(tests, remarks))


Fill = Callable[[Sheet], dict[str, str]]
"""What a template is filled with."""


def fitted(prompt: Prompt, asking: Asking, sheet: Sheet, fill: Fill) -> tuple[str, str]:
    """System message and user's turn, with as much evidence as leaves room for a reply. Raises AgentError."""
    room = (asking.context_tokens or float("inf")) - asking.max_tokens - OVERHEAD
    needed = 0
    for lengths in shorter(sheet.lengths):
        filled = prompt.fill(**fill(replace(sheet, lengths=lengths)))
        needed = tokens.estimate(prompt.system) + tokens.estimate(filled)
        if needed <= room:
            return prompt.system, filled
    raise AgentError(
        f"the shortest prompt is about {needed} tokens, context_tokens is {asking.context_tokens} and "
        f"max_tokens {asking.max_tokens}: raise the one or lower the other"
    )


def prompt_file(directory: Path, domain: str, name: str) -> Path:
    """Where a prompt is, of a directory that may have one of its own for the domain."""
    own = directory / domain / f"{name}.md"
    return own if own.exists() else directory / f"{name}.md"


def domain_of(case: Case) -> str:
    """`code` where the reference is tests of a program."""
    return "math" if evidence.tests_of(case.query) is None else "code"


def _tests(tests: Sequence[Test], remarks: Sequence[str]) -> str:
    """A few of the tests: those that remarks name by number, then the first."""
    named = [int(number) - 1 for remark in remarks for number in re.findall(r"\btest #?(\d{1,6})\b", remark)]
    places = dict.fromkeys(n for n in [*named, *range(len(tests))] if 0 <= n < len(tests))
    shown = sorted(list(places)[:TESTS_SHOWN])
    return "\n".join([f"{len(shown)} of {len(tests)} tests:", *(_test(n, tests[n]) for n in shown)])


def _test(place: int, test: Test) -> str:
    given, expected = (evidence.trim(text.strip(), TEST_CHARACTERS) for text in (test.input, test.output))
    what = "arguments" if test.kind == "functional" else "input"
    return f"test {place + 1}\n{what}:\n{given}\nexpected:\n{expected}"
