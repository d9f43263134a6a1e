"""The math verifier on labelled answers (tests/answers), and how many it judges, beside bare math-verify.

    python -m benchmarks.answers
    python -m benchmarks.answers --json

Agreement is the share of labels kept; `later` are the cases that were written after the verifier was mended.
`not-wrongly-right` is the share of cases that are right or are not called so. Throughput is in completions a
second on one core, median of interleaved rounds, over both tables and over short texts with a boxed integer.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from benchmarks.rows import Finding, Wanted, row, show
from producers.rewards import math
from tests.answers.labelled import TABLES, Case, cases
from tests.builders import a_query

Verifier = Callable[[Case], bool]
ROUNDS = 7


def ours() -> Verifier:
    """The verifier of `[reward] verifier = { kind = "math" }`."""
    reward = math.build(math.Config())
    return lambda case: reward.score(a_query(reference=case.reference), case.completion).right


def bare() -> Verifier:
    """math-verify as its README uses it, its alarm clocks off as ours are."""
    from math_verify import parse, verify  # pyright: ignore[reportMissingTypeStubs]

    for part in "parser", "grader":
        logging.getLogger(f"math_verify.{part}").setLevel(logging.CRITICAL)

    def right(case: Case) -> bool:
        gold = parse(f"${case.reference}$", parsing_timeout=0)
        answer = parse(case.completion, parsing_timeout=0)
        return bool(verify(gold, answer, timeout_seconds=0))

    return right


def rates(name: str, labelled: Sequence[Case], verifiers: Sequence[Verifier]) -> Iterator[Finding]:
    """How often each verifier keeps the labels of a table, and in which direction it errs."""
    judged = [[verifier(case) for case in labelled] for verifier in verifiers]

    def share(of: Callable[[bool, bool], bool]) -> list[float]:
        return [
            sum(of(found, case.right) for found, case in zip(one, labelled, strict=True)) / len(labelled)
            for one in judged
        ]

    value, baseline = share(lambda found, right: found == right)
    yield row(f"answers.{name}.agreement", value, "share", baseline), Wanted("value", "at least", 0.98)
    value, baseline = share(lambda found, right: right or not found)
    yield row(f"answers.{name}.not-wrongly-right", value, "share", baseline), None
    value, baseline = share(lambda found, right: found or not right)
    yield row(f"answers.{name}.not-wrongly-wrong", value, "share", baseline), None


def integers(count: int = 400) -> list[Case]:
    """Short texts with an integer in a box, as most answers are; every other one is right."""
    text = "First we add, then we double what we have. "
    return [
        Case("", str(7 * n), f"{text * 5}So it is \\boxed{{{7 * n + n % 2}}}.", not n % 2)
        for n in range(count)
    ]


def throughput(name: str, labelled: Sequence[Case], verifiers: Sequence[Verifier], rounds: int) -> Finding:
    """Completions a second, rounds interleaved."""
    speeds: list[list[float]] = [[] for _ in verifiers]
    for _ in range(rounds):
        for verifier, found in zip(verifiers, speeds, strict=True):
            forget()
            began = time.process_time()
            for case in labelled:
                verifier(case)
            found.append(len(labelled) / (time.process_time() - began))
    value, baseline = map(median, speeds)
    return row(f"answers.throughput.{name}", value, "completions/s", baseline), None


def forget() -> None:
    """Empty the memories that make a second look at the same text free."""
    from sympy.core.cache import clear_cache

    from mentor_stream.answers import equality, formulas

    clear_cache()
    equality.reference_as_latex.cache_clear()
    formulas.expressions.cache_clear()


def measured(rounds: int, *, every: int = 1) -> Iterator[Finding]:
    """All rows, from each `every`th case."""
    verifiers = ours(), bare()
    tables = {table.stem: cases(table)[::every] for table in TABLES}
    for name, labelled in tables.items():
        yield from rates(name, labelled, verifiers)
    yield throughput("tables", [case for table in tables.values() for case in table], verifiers, rounds)
    yield throughput("integers", integers(), verifiers, rounds)


def main() -> None:
    """Print one line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="one round of every tenth case")
    options = parser.parse_args()
    show(measured(1, every=10) if options.quick else measured(ROUNDS), as_json=options.json)


if __name__ == "__main__":
    main()
