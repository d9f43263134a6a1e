"""Which attempts the agents see."""

import time

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumers import evidence
from schemas import Group
from tests.builders import a_group, a_query, a_trajectory


def a_group_of(*texts: str, remark: str = "") -> Group:
    return replace(a_group("W"), trajectories=tuple(a_trajectory(text=t, remark=remark) for t in texts))


def unlike(group: Group, count: int) -> list[str]:
    return [attempt.text for attempt in evidence.unlike(group, count)]


def test_copies_of_one_error_are_shown_once() -> None:
    assert unlike(a_group_of("5", "5", "5", "7"), 4) == ["5", "7"]


def test_attempts_are_as_unlike_each_other_as_possible() -> None:
    group = a_group_of("a b c d", "a b c e", "a b c f", "x y z")
    assert unlike(group, 2) == ["a b c d", "x y z"]


def test_attempts_that_end_in_one_answer_are_one_error_whatever_words_lead_there() -> None:
    group = a_group_of(
        "First we add, then the answer is 41.",
        "A quite different way of thinking about it. The answer is 41.",
        "First we add, then the answer is 40.",
    )
    assert unlike(group, 2) == [group.trajectories[0].text, group.trajectories[2].text]


def test_the_error_that_most_make_comes_first() -> None:
    group = a_group_of("The answer is 7.", "The answer is 5.", "I say: the answer is 5.")
    assert unlike(group, 3)[0] == "The answer is 5."


def test_programs_that_fail_the_same_test_are_one_error() -> None:
    tests = '[{"input": "1", "output": "2"}]'
    group = replace(
        a_group("W", query=a_query(reference=tests)),
        trajectories=(
            a_trajectory(text="def f(): return 1", remark="test 1: wrong"),
            a_trajectory(text="class Solution: pass", remark="test 1: wrong"),
            a_trajectory(text="def f(): return 3", remark="time limit"),
        ),
    )
    assert unlike(group, 2) == ["def f(): return 1", "def f(): return 3"]
    assert evidence.endings(group) == ["test 1: wrong (2 of 3)", "time limit (1 of 3)"]


def test_how_attempts_end_is_counted_over_all_of_them() -> None:
    group = a_group_of("The answer is 5.", "The answer is 5.", "The answer is 7.", "no idea at all")
    assert evidence.endings(group) == ["5 (2 of 4)", "7 (1 of 4)"]


def test_the_verifiers_remark_comes_with_the_attempt() -> None:
    assert evidence.shown(a_trajectory(text="5", remark="off by one"), 100) == "5\n[verifier: off by one]"


def test_a_long_remark_costs_the_attempt_nothing() -> None:
    said = evidence.shown(a_trajectory(text="x" * 400 + "END", remark="y" * 50_000), 300)
    assert "END\n[verifier: " in said
    assert len(said) < 700


@given(st.lists(st.text(), min_size=1), st.integers(1, 6))
def test_as_many_different_attempts_as_asked_for_and_there_are(texts: list[str], count: int) -> None:
    chosen = unlike(a_group_of(*texts), count)
    assert len(chosen) == len(set(chosen)) == min(count, len(set(texts)))
    assert set(chosen) <= set(texts)


@given(st.lists(st.text(), min_size=1), st.integers(1, 6))
def test_the_first_few_are_those_of_a_shorter_choice(texts: list[str], count: int) -> None:
    group = a_group_of(*texts)
    assert unlike(group, 6)[:count] == unlike(group, count)


@given(st.text(), st.integers(1, 50))
def test_a_long_attempt_loses_its_middle_and_keeps_its_end(text: str, characters: int) -> None:
    kept = evidence.trim(text, characters)
    if len(text) <= characters:
        assert kept == text
    else:
        tail = text[len(text) - (characters - characters // 3) :]
        assert kept.endswith(tail)
        assert kept.startswith(text[: characters // 3])
        assert f"[{len(text) - characters} characters left out]" in kept


def test_thousands_of_attempts_hold_nobody_up() -> None:
    group = a_group_of(*(f"First {n} steps, then {n % 7} more: the answer is {n}." for n in range(10_000)))
    began = time.process_time()
    assert evidence.typical(group) in group.trajectories
    assert len(unlike(group, 8)) == 8
    assert time.process_time() - began < 10
