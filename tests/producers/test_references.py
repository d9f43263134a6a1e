"""References are put before the verifier."""

from pathlib import Path

from producers.datasets.base import Dataset, Row
from producers.judging.judge import RewardConfig
from producers.references import problems


def a_dataset(*answers: str) -> Dataset:
    rows = [Row(f"line {n}", "?", answer, None, {}) for n, answer in enumerate(answers, start=1)]
    return Dataset(Path("questions.jsonl"), rows, "digest")


def test_a_file_has_one_line_for_all_its_unreadable_references() -> None:
    (problem,) = problems([a_dataset("1", "", "2", " "), a_dataset("1")], exact(), limit=4)
    assert problem.startswith("questions.jsonl line 2: ")
    assert "the reference is empty (and 1 more of the first 4: line 4). Set data.answer" in problem


def test_of_many_unreadable_references_the_first_places_are_named() -> None:
    (problem,) = problems([a_dataset(*[""] * 40)], exact(), limit=40)
    assert "(and 39 more of the first 40: line 2, line 3," in problem
    assert "line 11, ...)" in problem
    assert "line 12" not in problem


def test_references_that_are_no_mathematics_are_named_before_the_run() -> None:
    dataset = a_dataset("1/2", "see the figure below ->", r"\frac{1}{", "#### 12", "yes")
    (problem,) = problems([dataset], RewardConfig(workers=1), limit=5)
    assert "line 2: " in problem
    assert "(and 1 more of the first 5: line 3)" in problem


def test_references_beyond_the_limit_are_not_looked_at() -> None:
    assert problems([a_dataset("1", "2", "")], exact(), limit=2) == []


def exact() -> RewardConfig:
    return RewardConfig(verifier={"kind": "exact"}, workers=1)
