"""The leak guard on answers of mathematics: properties, and a worker that dies."""

import re
from collections.abc import Sequence
from fractions import Fraction

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.leak.decision import find_leak, find_text
from consumers.leak.guard import Guard, GuardMode, guarding
from mentor_stream import workers
from tests.builders import a_query
from tests.consumers.leak_table import Row
from tests.consumers.leaking import Here, found


def leak(hint: str, reference: str, question: str = "") -> str | None:
    return found(Row(reference, question, hint), "math")


TEMPLATES = st.sampled_from(
    ["{}", "The answer is {}.", "so you get {}, as above", "$x = {}$", "({})", "it's {}!"]
)


@given(st.integers(-(10**9), 10**9), TEMPLATES)
def test_an_integer_is_found_wherever_it_stands(number: int, template: str) -> None:
    for spelled in (str(number), f"{number:,}", f"{number}.0", f"{number}.", rf"\boxed{{{number}}}"):
        assert leak(template.format(spelled), str(number))


@given(st.integers(-999, 999), st.integers(1, 999), TEMPLATES)
def test_a_fraction_is_found_in_every_notation(over: int, under: int, template: str) -> None:
    value = Fraction(over, under)
    sign = "-" if over < 0 else ""
    for spelled in (
        f"{over}/{under}",
        rf"\frac{{{over}}}{{{under}}}",
        rf"{sign}\dfrac{{{abs(over)}}}{{{under}}}",
        f"{3 * over}/{3 * under}",
    ):
        assert leak(template.format(spelled), f"{value.numerator}/{value.denominator}"), spelled


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_another_integer_is_no_leak_even_if_it_contains_the_answers_digits(answer: int, other: int) -> None:
    for number in (other, int(f"{answer}{other}"), int(f"{other + 1}{answer}")):
        if number != answer:
            assert leak(f"look at {number} again", str(answer)) is None


@given(st.integers(0, 10**6), st.text(alphabet="abc xyz.,", max_size=20))
def test_a_number_of_the_question_is_no_leak(answer: int, words: str) -> None:
    assert leak(f"Start with the {answer}.", str(answer), f"{words} {answer} {words}") is None


@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=100))
def test_no_text_breaks_the_guard(hint: str, reference: str, question: str) -> None:
    async def nothing_equal(_: str, __: Sequence[str]) -> None:
        return None

    anyio.run(find_leak, hint, question, reference, nothing_equal, backend="trio")
    find_text(hint, question, reference)


@given(st.text(alphabet="0123456789.,/^_*-+ ()[]{}\\$ abcxe=%", max_size=200))
def test_no_formula_breaks_the_guard(hint: str) -> None:
    async def nothing_equal(_: str, __: Sequence[str]) -> None:
        return None

    anyio.run(find_leak, hint, hint[::-1], hint[:20], nothing_equal, backend="trio")


def test_a_hint_that_cannot_be_searched_is_a_leak() -> None:
    assert "cannot be searched" in (leak("x" * 10_000, "12") or "")
    assert "cannot be searched" in (leak(" and ".join(f"{n}+{n}*2" for n in range(100, 200)), "1") or "")


@pytest.mark.parametrize(
    ("hint", "reference", "question", "leaks"),
    [
        ("It is 12.", "12", "", True),
        ("It is 126.", "12", "", False),
        ("It is 6*2.", "12", "", False),
        ("Start with the 12.", "12", "12 eggs", False),
        ("It is  x + 1.", "x+1", "", True),
        ("after step 4 the value is 66.", "32", "Ops: +14 Start: 52", False),
        ("after step 4 the value is 32.", "32", "Ops: +14 Start: 52", True),
    ],
)
def test_the_text_guard_looks_for_the_reference_as_it_is_written(
    hint: str, reference: str, question: str, leaks: bool
) -> None:
    assert bool(find_text(hint, question, reference)) is leaks


@pytest.mark.anyio
async def test_formulas_are_compared_in_a_worker_process() -> None:
    query = a_query("What is 6 times 7?", "42")
    async with guarding("math") as guard:
        assert "40 + 2" in (await guard.leak(query, "Try 40 + 2.") or "")
        assert await guard.leak(query, "Try 40 + 3.") is None


@pytest.mark.anyio
async def test_a_hint_whose_check_dies_is_not_published() -> None:
    async with workers.pool("tests.consumers.test_leak:a_dying_handler", size=1) as pool:
        found = await Guard("math", pool).leak(a_query("What is 6 times 7?", "42"), "Try 40 + 3.")
    assert re.match("the hint could not be searched for the answer", found or "")


@pytest.mark.anyio
async def test_a_guard_that_is_off_lets_everything_through() -> None:
    async with guarding("off") as guard:
        assert await guard.leak(a_query(), "The answer is 5.") is None


def a_dying_handler(_: object) -> object:
    def die(_: object) -> None:
        raise SystemExit(3)

    return die


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["math", "text"])
async def test_a_long_question_is_read_while_other_cases_go_on(mode: GuardMode) -> None:
    question, turns = a_query(f"Add up, as {mode}: " + "1 2/3 4.5 " * 6000), 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.sleep(0)
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        assert await Guard(mode, Here()).leak(question, "Begin with the fractions.") is None
        tasks.cancel_scope.cancel()
    assert turns > 20
