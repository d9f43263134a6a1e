"""The leak guard on code questions: properties, and what is easily mixed up."""

import json
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.leak.code import find_code_leak
from consumers.leak.guard import guarding
from consumers.leak.statements import copied
from consumers.leak.tokens import statements, tokens
from mentor_stream.answers.programs import Test, read_tests
from tests.builders import a_query
from tests.consumers.leak_code import BRACKETS, SUBARRAY
from tests.consumers.leak_table import Row
from tests.consumers.leaking import found


def leak(hint: str, question: str = "", solution: str = "", *tests: Test) -> str | None:
    return find_code_leak(hint, question, "", tests, solution)


LINES = st.sampled_from(
    [
        "{a} = max({a}, {b} + {c}[{d}])",
        "{a}[{b}] = {a}[{b} - 1] + {a}[{b} - 2] * {c}",
        "if {a} * {a} > {b} or {b} % {a} == {c}:",
        "while {a} and {b}[{a}[-1]] < {b}[{c}]:",
        "return sum({a}[{b}] * {c}[{b}] for {b} in {d}) % {a}[0]",
        "if (dist[{a}] + {b} < dist[{c}]) {{",
        "{a} = {b} ^ ({b} >> 1) ^ {c};",
    ]
)
NAMES = st.lists(
    st.sampled_from(["left", "total", "k", "dp", "seen", "q", "best"]), min_size=4, max_size=4, unique=True
)
OTHERS = st.lists(
    st.sampled_from(["x", "y", "acc", "zz", "w_1", "foo", "hi"]), min_size=4, max_size=4, unique=True
)
FRAMES = st.sampled_from(
    ["{}", "Use `{}` there.", "```python\n{}\n```", "Then {}, as it should be.", "- {}\n- go on", "\t\t{}"]
)


def line_of(line: str, names: list[str]) -> str:
    return line.format(**dict(zip("abcd", names, strict=True)))


def spaced(line: str, spaces: list[str]) -> str:
    """The same line with other spaces between its tokens, never none where two words would join."""
    words = line.split(" ")
    return "".join(word + (spaces[at % len(spaces)] or " ") for at, word in enumerate(words)).strip()


@given(LINES, NAMES, FRAMES, st.lists(st.sampled_from([" ", "  ", "\t", "\n    "]), min_size=1, max_size=5))
def test_a_line_of_the_solution_is_found_however_it_is_laid_out(
    line: str, names: list[str], frame: str, spaces: list[str]
) -> None:
    copied = line_of(line, names)
    solution = f"import sys\nn = int(input())\n        {copied}\n    print(n)\n"
    assert leak(frame.format(spaced(copied, spaces)), "", solution)


@given(LINES.filter(lambda line: line[0] == "{"), NAMES, FRAMES)
def test_a_line_of_the_solution_is_found_without_any_space(line: str, names: list[str], frame: str) -> None:
    copied = line_of(line, names)
    assert leak(frame.format(copied.replace(" ", "")), "", f"n = 1\n{copied}\n")


@given(LINES, NAMES, OTHERS, FRAMES)
def test_a_line_of_the_solution_is_found_under_other_names(
    line: str, names: list[str], others: list[str], frame: str
) -> None:
    assert leak(frame.format(line_of(line, others)), "", f"n = 1\n{line_of(line, names)}\n")


def test_other_names_must_be_other_names_for_the_same_things() -> None:
    solution = "best = max(value, best + value)\n"
    assert leak("Try p = max(q, p + q).", "", solution)
    assert leak("Try p = max(q, r + s).", "", solution) is None
    assert leak("Try p = max(p, p + p).", "", solution) is None


@given(LINES, NAMES)
def test_a_line_that_stands_in_the_question_is_no_secret(line: str, names: list[str]) -> None:
    code = line_of(line, names)
    assert leak(f"Look at {code} again", f"What does this do?\n{code}\n", code) is None


@given(
    st.lists(st.text(alphabet="abcdefg", min_size=3, max_size=9), min_size=1, max_size=40),
    st.text(alphabet="hijklmnop0123456789=+-*/()[]:\n ", max_size=200),
    st.lists(st.tuples(st.text("6789 \n"), st.text("6789 \n")), max_size=5),
)
def test_a_hint_that_shares_nothing_with_solution_and_tests_is_no_leak(
    words: list[str], solution: str, tests: list[tuple[str, str]]
) -> None:
    cases = (Test(one, other, "stdin") for one, other in tests)
    assert leak(" ".join(words) + ".", "", solution, *cases) is None


LARGE = st.integers(10**6, 10**12).filter(lambda number: len(set(str(number))) > 2 and number % 1000)
LIMITS = (998244353, 2147483647, 2147483648, 4294967296)


@given(LARGE.filter(lambda number: number not in LIMITS), LARGE)
def test_a_large_output_is_found_in_every_spelling_and_no_other_number_is(output: int, other: int) -> None:
    test = Test("1\n", f"{output}\n", "stdin")
    for spelled in (str(output), f"{output:,}", f"{output:_}", f"**{output}**", f"`{output}`."):
        assert leak(f"In one case it is {spelled}", "", "", test), spelled
    if output != other:
        assert leak(f"In one case it is {other}", "", "", test) is None
    assert leak(f"In one case it is {output}", f"The largest is {output}.", "", test) is None


@pytest.mark.parametrize("limit", LIMITS)
def test_the_limits_of_machines_are_no_secret(limit: int) -> None:
    assert leak(f"It may exceed {limit}.", "", "", Test("1\n", f"{limit}\n", "stdin")) is None


ROWS = st.lists(st.integers(-99, 999), min_size=5, max_size=12).filter(
    lambda row: len({b - a for a, b in pairwise(row)}) > 1
)


@given(ROWS, ROWS, st.sampled_from([" ", ", ", ",", "\n", "; "]))
def test_a_row_of_hidden_values_is_found_with_other_marks_between_them(
    given_row: list[int], output: list[int], mark: str
) -> None:
    test = Test(" ".join(map(str, given_row)), json.dumps(output), "stdin")
    for row in (given_row, output):
        assert leak(f"Look at [{mark.join(map(str, row))}] once more", "", "", test)


@pytest.mark.parametrize("output", ["YES", "0", "1", "-1", "7"])
def test_an_output_that_many_tests_have_is_a_leak_only_beside_its_input_or_called_the_output(
    output: str,
) -> None:
    test = Test("417 23 99 4\n", f"{output}\n", "stdin")
    small = Test("4\n", f"{output}\n", "stdin")
    assert leak(f"Think of {output} as a special case.", "", "", test) is None
    assert leak(f"Your 4 attempts print {output} too early.", "", "", small) is None
    assert leak(f"The expected output is {output}.", "", "", test)
    assert leak(f"For n = 4 it has to print {output}.", "", "", small)
    assert leak(f"For n = 4 it has to print {output}.", f"Input\n4\nOutput\n{output}", "", small) is None


@pytest.mark.parametrize(
    "reference",
    [
        "assert add_all([3, 5], 2) == 12\nassert add_all([], 1) == 0\n",
        json.dumps(["assert add_all([3, 5], 2) == 12", "assert add_all([], 1) == 0"]),
        "def test_all():\n    assert add_all([3, 5], 2) == 12\n",
        json.dumps({"test_list": ["assert add_all([3, 5], 2) == 12"], "test_setup_code": ""}),
        json.dumps(
            {"test": "def check(candidate):\n    assert candidate([3, 5], 2) == 12", "entry_point": "add_all"}
        ),
    ],
)
def test_a_reference_that_is_assertions_is_searched_as_code(reference: str) -> None:
    row = Row(reference, "Write add_all.", "Try `add_all([3,5],2) == 12`.")
    assert found(row)
    assert found(row._replace(hint="Try a list of two.")) is None


def test_a_word_of_a_test_that_a_hint_only_uses_is_no_leak() -> None:
    test = Test("window\n", "repeat\n", "stdin")
    assert leak("Move the window until letters repeat again.", "", "", test) is None
    assert leak('It fails on "window".', "", "", test)
    assert leak("It has to print repeat there.", "", "", test)


def test_a_test_that_the_question_shows_without_words_is_no_secret() -> None:
    test = Test("4\n", "7\n", "stdin")
    assert leak("For n = 4 print 7.", "", "", test)
    assert leak("For n = 4 print 7.", "Example\n4\n7\n", "", test) is None


def test_code_is_the_same_in_other_languages_clothes() -> None:
    assert tokens("if (a && !b[0]) {") == tokens("if a and not b[0]")
    assert list(statements("int x = 1; // one\nfoo(1,\n  2);")) == [
        ("x", "=", "1"),
        ("foo", "(", "1", ",", "2", ")"),
    ]
    assert list(statements("x = 7 // 2  # half\n")) == [("x", "=", "7", "//", "2")]


def test_tests_or_hints_too_large_to_be_searched_are_leaks() -> None:
    assert "cannot be searched" in (leak("x" * 5000) or "")
    assert "cannot be searched" in (find_code_leak("x", "", "x" * 5_000_000, (), None) or "")


@given(st.text(max_size=300), st.text(max_size=200), st.text(max_size=300), st.text(max_size=60))
def test_no_text_breaks_the_guard(hint: str, question: str, solution: str, test: str) -> None:
    leak(hint, question, solution, Test(test, test[::-1], "stdin"), Test("1", test, "functional"))


@given(st.text(alphabet=string.punctuation + "ab01 \n", max_size=300))
def test_no_code_breaks_the_guard(hint: str) -> None:
    leak(hint, hint[::-1], hint, Test(hint, hint, "stdin"))


@pytest.mark.parametrize(
    "text",
    ["a" * 4000, "1 " * 2000, "(" * 4000, "'" * 4000, "```\n" * 1000, "a = b + c; " * 360, "for 1 is " * 440],
)
def test_large_tests_and_monotonous_hints_are_searched_to_the_end(text: str) -> None:
    tests = [{"input": f"{n} {n * n}\n", "output": f"{n % 7}\n" * 20} for n in range(4000)]
    row = Row(json.dumps(tests), text[:200], text[:4000], text * 3)
    assert len(row.reference) > 200_000
    found(row)


@pytest.mark.anyio
async def test_the_guard_takes_code_for_code_and_anything_else_for_mathematics() -> None:
    program = "```\nx = f(1)\ny = g(x)\nprint(h(y))\n```"
    async with guarding("auto") as guard:
        assert "program" in (await guard.leak(a_query(reference=json.dumps(SUBARRAY.tests)), program) or "")
        assert await guard.leak(a_query(reference="12"), program) is None
        assert "40 + 2" in (await guard.leak(a_query(reference="42"), "Try 40 + 2.") or "")
    async with guarding("math") as guard:
        assert await guard.leak(a_query(reference=json.dumps(BRACKETS.tests)), program) is None
    assert read_tests(json.dumps(BRACKETS.tests))


SUBSEQUENCE = """tails = []
for value in numbers:
    at = bisect_left(tails, value)
    tails[at : at + 1] = [value]
"""


def test_a_call_whose_result_a_program_turns_on_is_a_copy_and_its_name_alone_is_none() -> None:
    said = "For each value take at = bisect_left(tails, value) and go on from there."
    assert copied(said, "", SUBSEQUENCE) == "at = bisect_left ( tails , value )"
    assert copied("Think about what bisect_left says of a sorted list.", "", SUBSEQUENCE) is None
