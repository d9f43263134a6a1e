import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers.options import Option
from producers.rewards.base import Unscorable
from producers.rewards.choice import LETTERS, Config, build, settled
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.labelled import Labelled, choices

CASES = list(choices())
CITIES = [Option("A", "Sydney"), Option("B", "Melbourne"), Option("C", "Canberra")]


def verdict(case: Labelled) -> Verdict:
    try:
        judgement = build(Config(**case.options)).score(case.query, case.completion)
    except Unscorable:
        return Verdict.UNSCORABLE
    assert judgement.reward == float(judgement.right)
    return Verdict.RIGHT if judgement.right else Verdict.WRONG


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_an_answer_is_judged_as_it_is_labelled(case: Labelled) -> None:
    assert verdict(case) is case.verdict


@given(st.text() | st.text("ABCD().* \nanswer is:\\boxed{}"))
def test_any_text_settles_on_known_letters_or_on_none(text: str) -> None:
    assert set(settled(text, CITIES)) <= set("ABC")
    assert set(settled(text, [])) <= set(LETTERS)


@given(st.sampled_from("ABC"), st.text("xyz ,.\n", max_size=40))
def test_the_last_statement_decides_whatever_was_said_before(letter: str, before: str) -> None:
    assert settled(f"{before}\nThe answer is A.\nThe answer is ({letter}).", CITIES) == letter


def test_a_huge_answer_is_read_at_its_end_only() -> None:
    reward = build(Config())
    query = a_query("Which?\nA) this\nB) that", "B")
    for flood in ("A" * 10**7, "(A) " * 10**6, r"\boxed{" * 10**6, "**" * 10**6, "answer is " * 10**6):
        assert reward.score(query, f"{flood}\nThe answer is (B).").right
        assert not reward.score(query, flood).right


def test_a_column_that_is_not_carried_along_is_named() -> None:
    with pytest.raises(Unscorable, match=r"'choices'.*data\.extra"):
        build(Config(options="choices")).score(a_query(), "A")


def test_the_remark_says_what_was_taken_for_the_answer() -> None:
    query = a_query("Which?\nA) this\nB) that", "B")
    remarks = [build(Config()).score(query, text).remark for text in ("B", "A or B", "neither nor")]
    assert remarks == ["answers B", "answers A and B", "settles on no option"]
