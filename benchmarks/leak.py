"""How well the leak guard tells hints that give the answer away, on labelled ones (tests/consumers).

    python -m benchmarks.leak
    python -m benchmarks.leak --json

Precision is the share of leaks among the hints it refuses, recall the share of leaks that it refuses; of what
is honest it lets the share `passed` through. `later` are the hints that were written after the guard was. The
baseline looks for the reference as it is written, for a code question for a line of the tests or of the
solution. Times are medians of one search.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from statistics import median
from typing import NamedTuple

import anyio
import msgspec

import schemas
from benchmarks.rows import Finding, Wanted, row, show
from consumers.leak.decision import find_text
from consumers.leak.guard import guarding
from mentor_stream.answers.programs import read_tests
from tests.builders import a_query
from tests.consumers import leak_code, leak_later, leak_math, leak_table
from tests.consumers.leak_table import Row

TABLES = (leak_table, leak_math, leak_code, leak_later)
LARGE = 4000
"""Tests of a large reference, of some 200 kB."""


class Labelled(NamedTuple):
    """A question, a hint to it, and whether the hint is a leak."""

    query: schemas.Query
    hint: str
    leaks: bool
    later: bool = False

    @property
    def domain(self) -> str:
        """What kind of question it is."""
        return "code" if read_tests(self.query.reference) else "math"


class Answer(NamedTuple):
    """What a guard said, and in how many milliseconds."""

    refused: bool
    milliseconds: float


def labelled() -> list[Labelled]:
    """Every row of the tables, those too that the guard is known to get wrong."""
    return [
        Labelled(_query(found), found.hint, leaks, table is leak_later)
        for table in TABLES
        for rows, leaks in ((table.LEAKS, True), (table.CLEAN, False))
        for found in rows
    ]


def _query(found: Row) -> schemas.Query:
    query = a_query(found.question, found.reference)
    return msgspec.structs.replace(query, solution=found.solution or None)


async def guarded(cases: Sequence[Labelled]) -> list[Answer]:
    """What the guard says, with its worker as in a mentor."""
    answers: list[Answer] = []
    async with guarding("auto") as guard:
        await guard.leak(cases[0].query, "Try 1 + 1.")  # the worker's start is not measured
        for case in cases:
            began = time.perf_counter()
            found = await guard.leak(case.query, case.hint)
            answers.append(Answer(found is not None, 1e3 * (time.perf_counter() - began)))
    return answers


def bare(cases: Sequence[Labelled]) -> list[Answer]:
    """What a search for the reference, or for lines, says."""
    answers: list[Answer] = []
    for case in cases:
        began = time.perf_counter()
        found = _as_written(case.query, case.hint)
        answers.append(Answer(found, 1e3 * (time.perf_counter() - began)))
    return answers


def _as_written(query: schemas.Query, hint: str) -> bool:
    tests = read_tests(query.reference)
    if tests is None:
        return find_text(hint, query.question, query.reference) is not None
    texts = [query.solution or "", *(text for test in tests for text in (test.input, test.output))]
    lines = (line.strip() for text in texts for line in text.splitlines())
    return any(line in hint and line not in query.question for line in lines if line)


def rates(
    name: str, cases: Sequence[Labelled], ours: Sequence[Answer], plain: Sequence[Answer]
) -> Iterator[Finding]:
    """Precision, recall and what passes of the honest hints."""
    measures: tuple[tuple[str, Callable[..., float], Wanted | None], ...] = (
        ("precision", _precision, Wanted("value", "at least", 0.95)),
        ("recall", _recall, Wanted("value", "at least", 0.85)),
        ("passed", _passed, None),
    )
    for measure, rate, wanted in measures:
        yield row(f"leak.{name}.{measure}", rate(cases, ours), "share", rate(cases, plain)), wanted


def _precision(cases: Sequence[Labelled], answers: Sequence[Answer]) -> float:
    return _share(case.leaks for case, answer in zip(cases, answers, strict=True) if answer.refused)


def _recall(cases: Sequence[Labelled], answers: Sequence[Answer]) -> float:
    return _share(answer.refused for case, answer in zip(cases, answers, strict=True) if case.leaks)


def _passed(cases: Sequence[Labelled], answers: Sequence[Answer]) -> float:
    return _share(not answer.refused for case, answer in zip(cases, answers, strict=True) if not case.leaks)


def _share(yes: Iterator[bool]) -> float:
    found = list(yes)
    return sum(found) / len(found)


def large() -> Labelled:
    """A hint to a question with many tests, and none that it gives away."""
    tests = [{"input": f"{n} {n * n % 977}\n{n * 31}\n", "output": f"{n * n}\n"} for n in range(LARGE)]
    query = a_query("What is the square?", json.dumps(tests))
    return Labelled(query, "Think of the number as a side, and of what it encloses. " * 10, leaks=False)


def measured() -> Iterator[Finding]:
    """All rows: both domains, each alone, and the time."""
    cases = labelled()
    ours, plain = anyio.run(guarded, cases, backend="trio"), bare(cases)
    for name in ("all", "math", "code", "later"):
        those = [name in ("all", case.domain) or (name == "later" and case.later) for case in cases]
        some = list(compress(cases, those))
        yield from rates(name, some, list(compress(ours, those)), list(compress(plain, those)))
    for name in ("math", "code"):
        times = (
            median(a.milliseconds for case, a in zip(cases, answers, strict=True) if case.domain == name)
            for answers in (ours, plain)
        )
        yield row(f"leak.{name}.hint", next(times), "ms", next(times)), None
    heavy = [large()] * 5
    slow, quick = anyio.run(guarded, heavy, backend="trio"), bare(heavy)
    yield (
        row(
            "leak.code.200kB",
            median(a.milliseconds for a in slow),
            "ms",
            median(a.milliseconds for a in quick),
        ),
        Wanted("value", "at most", 1000),
    )


def main() -> None:
    """Print one line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    show(measured(), as_json=parser.parse_args().json)


if __name__ == "__main__":
    main()
