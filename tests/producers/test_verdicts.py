import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.judging.verdicts import (
    Attempt,
    Exhausted,
    Failed,
    Lost,
    Score,
    may_be_to_blame,
    needs_another,
    settle,
)
from producers.rewards.base import Judgement
from schemas import Verdict

LETTERS: dict[str, Attempt] = {
    "R": Judgement(True, 1.0, "fine"),
    "W": Judgement(False, 0.0, "no"),
    "E": Exhausted("cpu"),
    "L": Lost("killed"),
    "F": Failed("raised"),
}


def attempts(letters: str) -> list[Attempt]:
    return [LETTERS[letter] for letter in letters]


@pytest.mark.parametrize(
    ("another", "letters"),
    [(True, "|E|L|EL|LE"), (False, "R|W|F|EE|LL|ER|LF|ELE|LEL")],
)
def test_only_an_attempt_that_brought_the_worker_down_is_repeated(another: bool, letters: str) -> None:
    assert {needs_another(attempts(history)) for history in letters.split("|")} == {another}


@pytest.mark.parametrize(
    ("letters", "quick", "verdict"),
    [
        ("R", False, Verdict.RIGHT),
        ("W", False, Verdict.WRONG),
        ("F", True, Verdict.UNSCORABLE),
        ("LL", True, Verdict.UNSCORABLE),
        ("LR", False, Verdict.RIGHT),
        ("ER", False, Verdict.RIGHT),
        ("EW", False, Verdict.WRONG),
        ("EF", True, Verdict.UNSCORABLE),
        ("EE", True, Verdict.WRONG),
        ("EE", False, Verdict.UNSCORABLE),
        ("ELE", True, Verdict.WRONG),
        ("ELL", True, Verdict.UNSCORABLE),
        ("LEL", True, Verdict.UNSCORABLE),
    ],
)
def test_the_verdict_table(letters: str, quick: bool, verdict: Verdict) -> None:
    assert not needs_another(attempts(letters))
    score = settle(attempts(letters), reference_is_quick=quick)
    assert score.verdict is verdict
    assert (score.reward is None) == (verdict is Verdict.UNSCORABLE)
    assert score.remark


def histories() -> st.SearchStrategy[str]:
    """Letters up to the point where no further attempt is made."""

    def cut(letters: str) -> str:
        for end in range(1, len(letters) + 1):
            if not needs_another(attempts(letters[:end])):
                return letters[:end]
        return letters

    return st.text("RWELF", min_size=3, max_size=5).map(cut)


@given(histories(), st.booleans())
def test_trouble_of_the_judge_alone_is_never_wrong(letters: str, quick: bool) -> None:
    assert len(letters) <= 3
    score = settle(attempts(letters), reference_is_quick=quick)
    if score.verdict is Verdict.WRONG and "W" not in letters:
        assert letters.count("E") >= 2
        assert may_be_to_blame(attempts(letters))
        assert quick


def test_a_judgement_keeps_its_reward_and_remark() -> None:
    score = settle([Judgement(False, -0.5, "half way")], reference_is_quick=False)
    assert score == Score(Verdict.WRONG, -0.5, "half way")
