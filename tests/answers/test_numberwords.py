"""Numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers.numberwords import counted_in_digits, in_digits


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("zero", "0"),
        ("Twenty-one", "21"),
        ("a hundred", "100"),
        ("one hundred and one", "101"),
        ("two thousand three hundred and five", "2305"),
        ("one million two hundred thousand", "1200000"),
        ("twelve hundred", "1200"),
        ("minus seven", "-7"),
        ("one half", "1/2"),
        ("a third", "1/3"),
        ("three quarters", "3/4"),
        ("two and a half", "5/2"),
        ("3 million", "3000000"),
        ("2.5 thousand", "2500"),
        ("1,200 million", "1200000000"),
        ("", None),
        ("and", None),
        ("minus", None),
        ("apples", None),
        ("twenty twelve", None),
        ("one two", None),
        ("thousand million", None),
        ("two thousand three million", None),
        ("five halves and a half", None),
        ("twenty hundred", None),
        ("hundred and", None),
        ("the answer", None),
    ],
)
def test_words_that_are_a_number_are_read_and_no_others(words: str, digits: str | None) -> None:
    assert in_digits(words) == digits


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("three apples", "3 apples"),
        ("two and a half hours", "5/2 hours"),
        ("three apples and pears", None),
        ("five hundred", None),
        ("one third", None),
        ("some apples", None),
        ("apples", None),
    ],
)
def test_a_count_of_something_keeps_what_is_counted(words: str, digits: str | None) -> None:
    assert counted_in_digits(words) == digits


@given(st.text(alphabet="ontwhrefiusxvgydlm -a", max_size=60))
def test_no_text_makes_the_reading_fail(text: str) -> None:
    found = in_digits(text)
    assert found is None or found.lstrip("-")[0].isdigit()
