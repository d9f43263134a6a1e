"""One value in many spellings, and values that only look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers import Unreadable, equivalent, readable


@pytest.mark.parametrize(
    ("reference", "expression"),
    [
        ("12", "12"),
        ("12", "\uff11\uff12"),
        ("12", "12."),
        ("12", "$12$."),
        ("12", "x = 12"),
        ("12", "12.0"),
        ("12000", "12 000"),
        ("12000", "12\u2009000"),
        ("12000", "12\u202f000"),
        ("12000", r"12\,000"),
        ("12000", "12{,}000"),
        ("12,000", "12000"),
        ("1234567", "1,234,567"),
        ("1/2", "0.5"),
        ("1/2", r"\frac12"),
        ("1/2", r"$\dfrac{1}{2}$"),
        ("1/2", "½"),
        ("1/2", "50%"),
        ("50", r"50\%"),
        ("50%", "50 %"),
        ("5/2", "2 1/2"),
        ("5/2", r"2\frac{1}{2}"),
        ("1/3", r"0.\overline{3}"),
        ("1/6", r"0.1\overline{6}"),
        ("100000", "1e5"),
        ("0.001", "1e-3"),
        (r"\sqrt{2}", "√2"),
        (r"2\sqrt{3}", "√(12)"),
        ("-3", "\u22123"),
        ("90", "90°"),
        (r"2\pi", "2π"),
        ("x^2+1", "x²+1"),
        ("x^2-1", "(x-1)(x+1)"),
        ("(1,2)", r"\bigl(1, 2\bigr)"),
        ("(1,2)", r"\left(1,2\right)"),
        (r"\{1,2\}", r"\{2,1\}"),
        ("[0,1)", "$[0, 1)$"),
        ("yes", "Yes"),
        ("yes", r"\text{yes}"),
        ("Monday", "monday."),
        ("B", "(B)"),
        ("(B)", "b"),
        ("3", "3 apples"),
        ("3", "$3"),
        ("She has 2 + 1 apples.\n#### 3", "3"),
        (r"We get $2+1=\boxed{3}$ in all.", "3"),
        ("12", "twelve"),
        ("12", r"\text{Twelve}"),
        ("6!", "720"),
        ("720", "6!"),
        ("1, 2", "2 and 1"),
        ("1, 2, 3", "1, 2, and 3"),
        ("1, 2", r"\{1,2\}"),
        ("B", "B) green"),
        ("(B)", r"\text{(B) green}"),
        ("B", "B. 12"),
        ("12", r"6 \cdot 2 = 12"),
        ("1.73", r"\sqrt{3} = 1.73"),
        ("1/2", r"\frac{1}{2} = 50\%"),
        ("12", "f(2) = 12"),
        ("5 cm", "5 centimeters"),
        ("5 cm", r"5\text{ cm}"),
        ("5 cm", "5"),
        ("5", "5 cm"),
        ("12", "12 wrong answers"),
        ("3", "3 trees between each pair"),
        ("yes", "Yes!"),
        (r"\{12\}", "12"),
    ],
)
def test_one_value_in_two_spellings_is_the_same_answer(reference: str, expression: str) -> None:
    assert readable(reference)
    assert equivalent(reference, expression)


@pytest.mark.parametrize(
    ("reference", "expression"),
    [
        ("12", "126"),
        ("12", "1 2"),
        ("12", "-12"),
        ("12", ""),
        ("12", "twelve hundred"),
        ("1/3", "0.33"),
        ("1e-7", "2e-7"),
        ("0.0000001", "0.0000002"),
        ("5/2", "1/2"),
        ("yes", "no"),
        ("B", "C"),
        ("(1,2)", "(2,1)"),
        ("12", "1" * 10**6),
        ("12", "(" * 1000),
        ("12", "(" * 500 + ")" * 500),
        ("12", r"\frac{1}{"),
        ("0", r"\frac{1}{0}"),
        ("12", "not 12"),
        ("12", "12 is wrong"),
        ("12", "it isn't 12"),
        ("12", "between 11 and 12"),
        ("12", "12!"),
        ("12", "1=12"),
        ("12", "13=12"),
        ("12", r"\frac{25}{2} = 12"),
        ("12", "[12]"),
        ("12", r"\{12\}"),
        ("(1,2)", r"\{1,2\}"),
        (r"\{1,2\}", "(1,2)"),
        ("5 cm", "5 m"),
        ("5 cm", r"5\text{ cm}^2"),
        ("B", "C) green"),
        ("(a) + b", "(a) - b"),
    ],
)
def test_another_value_is_another_answer(reference: str, expression: str) -> None:
    assert not equivalent(reference, expression)


@pytest.mark.parametrize("reference", ["", "  ", "$$", r"\frac{1}{", "((", "?", "1" * 5000])
def test_an_unreadable_reference_is_an_error_not_a_wrong_answer(reference: str) -> None:
    assert not readable(reference)
    with pytest.raises(Unreadable, match="reference"):
        equivalent(reference, "12")


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_integers_are_the_same_answer_exactly_when_they_are_equal(one: int, other: int) -> None:
    assert equivalent(str(one), f"${one:,}$")
    assert equivalent(str(one), str(other)) == (one == other)
