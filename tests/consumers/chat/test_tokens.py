"""About how many tokens a text has."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.tokens import estimate


def test_prose_counts_less_than_digits_formulas_and_other_scripts() -> None:
    assert estimate("") == 0
    assert estimate("abc def ghi") == 4
    assert estimate("1234567890") == 15
    assert estimate("ABC") == 3
    assert estimate(r"\frac{1}{2}") == 10
    assert estimate("答えは五です") == 9
    assert estimate("\ud800") == 1


@given(st.text(), st.text())
def test_a_longer_text_has_no_fewer_tokens(one: str, other: str) -> None:
    assert estimate(one + other) >= max(estimate(one), estimate(other))
    assert estimate(one) + estimate(other) >= estimate(one + other)
