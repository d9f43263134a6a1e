"""What a language model is told of a case, and how much."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumers.guides.base import Case
from consumers.guides.fdcg.agents.llm.forms import read_order
from consumers.sheet import LEAST_ATTEMPT, LEAST_DATUM, Lengths, Sheet, domain_of, shorter
from tests.builders import a_group, a_query, a_trajectory


def a_case_about(reference: str, remark: str = "") -> Case:
    group = a_group("W", query=a_query(reference=reference))
    group = replace(group, trajectories=(a_trajectory(remark=remark),))
    return Case(group, 1, (), lambda _: True)


@given(st.integers(1, 20), st.integers(100, 100_000), st.integers(250, 100_000))
def test_lengths_shrink_step_by_step_attempts_before_all_else(
    attempts: int, attempt: int, datum: int
) -> None:
    steps = list(shorter(Lengths(attempts, attempt, datum)))
    assert steps[0] == Lengths(attempts, attempt, datum)
    assert steps[-1] == Lengths(1, min(attempt, LEAST_ATTEMPT), LEAST_DATUM)
    for longer, less in itertools.pairwise(steps):
        one, other = (
            (longer.datum, longer.attempts, longer.attempt),
            (less.datum, less.attempts, less.attempt),
        )
        assert other < one
        assert less.datum == datum or less.attempts == 1


def test_tests_of_a_program_are_told_from_an_answer() -> None:
    assert domain_of(a_case_about(json.dumps([{"input": "1", "output": "2"}]))) == "code"
    assert domain_of(a_case_about(json.dumps({"inputs": ["1"], "outputs": ["2"], "fn_name": "f"}))) == "code"
    for answer in ("5", "[1, 2]", r"\{1, 2\}", '{"a": 1}'):
        assert domain_of(a_case_about(answer)) == "math"


def test_the_tests_that_failed_are_shown_first_and_long_ones_shortened() -> None:
    tests = [{"input": "x" * 10_000, "output": f"out-{n}"} for n in range(1, 50)]
    case = a_case_about(json.dumps(tests), "test #40 failed: expected out-40")
    told = Sheet(case, Lengths(1, 400)).evidence()["reference"]
    assert "6 of 49 tests" in told
    assert "test 40\ninput:\n" in told
    assert "out-5\n" in told
    assert "out-6" not in told
    assert len(told) < 4000


def test_a_functional_test_has_arguments() -> None:
    case = a_case_about(json.dumps({"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"}))
    assert "test 1\narguments:\n1\n2\nexpected:\n3" in Sheet(case, Lengths(1, 400)).evidence()["reference"]


@given(st.integers(2, 16), st.lists(st.integers(-3, 99) | st.text(max_size=9) | st.none() | st.booleans()))
def test_an_order_is_a_permutation_whatever_is_replied(count: int, said: list[object]) -> None:
    order = read_order(json.dumps({"order": said}), count)
    assert sorted(order) == list(range(count))


@pytest.mark.parametrize("count", [2, 5])
def test_a_whole_order_is_taken_as_it_is(count: int) -> None:
    said = list(range(count, 0, -1))
    assert read_order(json.dumps({"order": said}), count) == tuple(place - 1 for place in said)
