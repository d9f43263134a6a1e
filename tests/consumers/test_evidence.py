"""Which attempts the agents see."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumers import evidence
from schemas import Group
from tests.builders import a_group, a_trajectory


def a_group_of(*texts: str, remark: str = "") -> Group:
    return replace(a_group("W"), trajectories=tuple(a_trajectory(text=t, remark=remark) for t in texts))


def test_copies_of_one_error_are_shown_once() -> None:
    assert evidence.select(a_group_of("5", "5", "5", "7"), 4) == ["5", "7"]


def test_attempts_are_as_unlike_each_other_as_possible() -> None:
    group = a_group_of("a b c d", "a b c e", "a b c f", "x y z")
    assert evidence.select(group, 2) == ["a b c d", "x y z"]


def test_the_verifiers_remark_comes_with_the_attempt() -> None:
    assert evidence.select(a_group_of("5", remark="off by one"), 1) == ["5\n[verifier: off by one]"]


@given(st.lists(st.text(), min_size=1), st.integers(1, 6))
def test_as_many_different_attempts_as_asked_for_and_there_are(texts: list[str], count: int) -> None:
    chosen = evidence.select(a_group_of(*texts), count)
    assert len(chosen) == len(set(chosen)) == min(count, len(set(texts)))
    assert set(chosen) <= set(texts)


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
