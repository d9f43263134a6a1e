"""Real questions with their real tests. All of them: python -m benchmarks.humaneval."""

import pytest

from benchmarks.humaneval import SPOILED, Problem, problems, verifier
from tests.producers.rewards.verifiers import needs_bubblewrap

HELPED = {"HumanEval/32", "HumanEval/38", "HumanEval/50"}
"""Their tests call functions that stand in the prompt before the one to be written."""


def some() -> list[Problem]:
    return [one for n, one in enumerate(problems()) if n % 10 == 0 or one["task_id"] in HELPED]


@needs_bubblewrap
@pytest.mark.parametrize("kind", SPOILED)
def test_known_solutions_of_humaneval_are_right_and_spoiled_ones_are_wrong(kind: str) -> None:
    right = verifier()
    asked = some()
    assert len(asked) == 19
    assert [one["task_id"] for one in asked if right(one, kind) is not (kind == "known")] == []
