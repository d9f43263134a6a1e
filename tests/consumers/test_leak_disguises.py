"""The leak guard on numbers in disguise, on options and on sentences of the worked solution: properties."""

# ruff: noqa: RUF001 - look-alikes are what this is about

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.leak.choices import chosen, options, right_option
from consumers.leak.romans import to_digits
from consumers.leak.steps import repeated
from tests.consumers.leak_table import Row
from tests.consumers.leaking import found

ZEROS = ("0", "٠", "۰", "०", "০", "๐", "0", "𝟎", "𝟘", "𝟶")
"""The zero of each script; the other digits follow it."""
INVISIBLE = (
    "\u200b",
    "\u200d",
    "\u2060",
    "\u00ad",
    "\ufeff",
    "\u034f",
    "\u3164",
    "&#8203;",
    "<!-- -->",
    "{}",
)
NUMBERS = st.integers(10, 10**9)
SCRIPTS = st.lists(st.sampled_from(ZEROS), min_size=10, max_size=10)


def leak(hint: str, reference: str, question: str = "", solution: str = "") -> str | None:
    return found(Row(reference, question, hint, solution), "math")


def disguised(number: int, scripts: list[str]) -> str:
    return "".join(chr(ord(zero) + int(digit)) for digit, zero in zip(str(number), scripts, strict=False))


@given(NUMBERS, NUMBERS, SCRIPTS, st.sampled_from(INVISIBLE))
def test_a_number_is_found_in_the_digits_of_any_scripts_and_no_other_number_is(
    number: int, other: int, scripts: list[str], invisible: str
) -> None:
    assert leak(f"it is {disguised(number, scripts)} there", str(number))
    assert leak(f"it is {invisible.join(str(number))} there", str(number))
    if number != other:
        assert leak(f"it is {disguised(other, scripts)} there", str(number)) is None


@given(NUMBERS, st.sampled_from(["&#{};", "&#x{:x};"]))
def test_a_number_is_found_in_entities_of_html(number: int, entity: str) -> None:
    assert leak("it is " + "".join(entity.format(ord(digit)) for digit in str(number)), str(number))


@given(
    NUMBERS,
    st.sampled_from(["**{}**{}", "{}**{}**", "`{}``{}`", "<b>{}</b>{}", r"\mathbf{{{}}}{}", "{{{}}}{{{}}}"]),
)
def test_a_number_is_found_whose_digits_are_set_apart(number: int, frame: str) -> None:
    text = str(number)
    assert leak(f"it is {frame.format(text[:1], text[1:])}", text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The answer is XII.", "The answer is 12."),
        ("answer: MCMXCIV", "answer: 1994"),
        (r"\boxed{XLII}", r"\boxed{42}"),
        ("World War II", "World War II"),
        ("The answer is MIXED up.", "The answer is MIXED up."),
        ("The answer is IIX.", "The answer is IIX."),
        ("I think", "I think"),
        ("答案是七", "答案是7"),
        ("三百二十一个", " 321 个"),
        ("十二", " 12 "),
        ("一个人", "一个人"),
    ],
)
def test_roman_and_chinese_numerals_are_read_where_they_are_numbers(text: str, plain: str) -> None:
    assert to_digits(text) == plain


@pytest.mark.parametrize(
    "question",
    [
        "Which? (A) one (B) two (C) three",
        "Which?\nA. one\nB. two\nC. three",
        "Which? A) one, B) two, C) three",
        r"Which? $\textbf{(A)}\ \text{one} \qquad \textbf{(B)}\ 2 \qquad \textbf{(C)}\ \text{three}$",
    ],
)
def test_options_are_read_as_questions_write_them(question: str) -> None:
    assert [option.letter for option in options(question)] == ["A", "B", "C"]
    right = right_option(question, "(B)")
    assert right is not None
    assert right.text.endswith(("two", "2"))
    assert chosen("Choose B.", right)
    assert chosen("Take the second option.", right)
    assert chosen("Is it B? Or would you choose C?", right) is None
    assert chosen("Do you say that you would pick B? Why?", right) is None
    assert chosen("Rule out the second option first if it is too small.", right) is None


def test_what_offers_no_options_has_none() -> None:
    assert options("Mr. A. Smith lives in B. How old is he?") == []
    assert right_option("What is 2 + 3?", "5") is None


VOCABULARY = ("abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx", "yza", "bcd", "efg")
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=12, max_size=30)


@given(WORDS, st.integers(0, 2), st.sampled_from(["{}", "**{}**", "So {}, and then?", "> {}"]))
def test_a_sentence_of_the_solution_is_found_unless_the_question_says_it(
    words: list[str], skip: int, frame: str
) -> None:
    sentence = " ".join(words)
    hint = frame.format(" ".join(words[skip:]).capitalize())
    assert repeated(hint, "", f"Look. {sentence.capitalize()}. Done.")
    assert repeated(hint, f"We know: {sentence}.", f"Look. {sentence.capitalize()}. Done.") is None


def test_chinese_sentences_are_compared_by_their_signs() -> None:
    solution = "先求出两根之和与两根之积。然后用两根之和的平方减去两根之积的两倍就得到所求的平方和。"
    assert repeated("提示:用两根之和的平方减去两根之积的两倍就得到所求。", "求平方和。", solution)
    assert repeated("先想一想两根之和与两根之积是多少。", "求平方和。", solution) is None


@given(WORDS, WORDS)
def test_how_a_solution_begins_may_be_said(words: list[str], others: list[str]) -> None:
    beginning = " ".join(words)
    end = " ".join(other.upper() + "x" for other in (*others, *others, *others))
    assert repeated(f"It begins so: {beginning}.", "", f"{beginning}. {end}.") is None
    assert repeated(f"It ends so: {beginning}.", "", f"{end}. {beginning}.")


@given(WORDS, WORDS)
def test_short_agreement_with_the_solution_is_no_leak(words: list[str], others: list[str]) -> None:
    mixed = " ".join(
        word for pair in zip(words, others, strict=False) for word in (pair[0].upper() + "x", pair[1])
    )
    assert repeated(mixed, "", " ".join(words)) is None


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=20))
def test_no_text_breaks_any_of_it(hint: str, question: str, reference: str) -> None:
    repeated(hint, question, question)
    to_digits(hint)
    option = right_option(f"A. {question} B. {hint}", reference) or right_option(
        f"A. {question} B. {hint}", "B"
    )
    if option:
        chosen(hint, option)


@pytest.mark.parametrize(
    ("hint", "reference"),
    [
        ("It comes to fourty-two.", "42"),
        ("It comes to fortytwo.", "42"),
        ("It comes to FORTYTWO.", "42"),
        ("It comes to forty\u00adtwo.", "42"),
        ("It comes to f\u043erty-tw\u043e.", "42"),  # Cyrillic
        ("It comes to \u0192orty-tw\u03bf.", "42"),  # a florin sign, Greek
        ("The digits are 4 and 2.", "42"),
        ("Its digits, in order: 1, 2 and 6.", "126"),
        ("It is sqrt 2.", "\\sqrt{2}"),
        ("It is nine times pi.", "9\\pi"),
    ],
)
def test_words_that_are_glued_misspelt_or_of_mixed_alphabets_are_read(hint: str, reference: str) -> None:
    assert leak(hint, reference)


@pytest.mark.parametrize(
    ("hint", "reference"),
    [
        ("The digits are 4 and 3.", "42"),
        ("Its digits add up to 4, and 2 of them are even.", "42"),
        ("Сорок первый шаг: sqrt 3.", "2"),
        ("A weighted mean, a sixteenth note.", "86"),
    ],
)
def test_words_that_only_look_like_a_number_are_none(hint: str, reference: str) -> None:
    assert leak(hint, reference) is None
