"""The tests of a code question, in the shapes that datasets have them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers.programs import Test, read_task, read_tests

ONE = Test("1 2\n", "3\n", "stdin")
TWO = Test("4 5\n", "9\n", "stdin")
PLAIN = [{"input": "1 2\n", "output": "3\n"}, {"input": "4 5\n", "output": "9\n"}]


@pytest.mark.parametrize(
    "reference",
    [
        PLAIN,
        [{**test, "testtype": "stdin"} for test in PLAIN],
        [{**test, "type": "stdin_stdout"} for test in PLAIN],
        {"tests": PLAIN},
        {"language": "python", "test_cases": PLAIN},
        {"public_test_cases": PLAIN[:1], "private_test_cases": PLAIN[1:]},
        {"public_test_cases": json.dumps(PLAIN[:1]), "private_test_cases": json.dumps(PLAIN[1:])},
        {"public_test_cases": PLAIN, "private_test_cases": []},
        {"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"]},
        {"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"], "fn_name": None},
        {"input_output": json.dumps({"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"]})},
        {
            "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
            "private_tests": {"input": [], "output": []},
            "generated_tests": {"input": ["4 5\n"], "output": ["9\n"]},
        },
    ],
    ids=str,
)
def test_the_tests_of_a_program_are_read_in_every_usual_shape(reference: object) -> None:
    assert read_tests(json.dumps(reference)) == (ONE, TWO)
    assert read_tests(f"\n {json.dumps(reference, indent=2)} ") == (ONE, TWO)


@pytest.mark.parametrize(
    "reference",
    [
        [{"input": "[1, 2]\n3", "output": "true", "testtype": "functional"}],
        [{"input": [[1, 2], 3], "output": True, "type": "function_call", "fn_name": "has"}],
        [{"input": "[1, 2]\n3", "output": "true", "metadata": {"func_name": "has"}}],
        {"inputs": [[[1, 2], 3]], "outputs": [True], "fn_name": "has"},
        {"fn_name": "has", "tests": [{"input": [[1, 2], 3], "output": True}]},
    ],
    ids=str,
)
def test_the_tests_of_a_function_have_an_argument_a_line(reference: object) -> None:
    assert read_tests(json.dumps(reference)) == (Test("[1, 2]\n3", "true", "functional"),)


CALL = {"input": "1\n2", "output": "3", "testtype": "functional"}
STARTER = "class Solution:\n    def __init__(self): ...\n\n    def add(self, a: int, b: int) -> int:\n"


@pytest.mark.parametrize(
    "reference",
    [
        {"tests": [CALL], "fn_name": "add"},
        {"public_test_cases": [CALL], "metadata": {"func_name": "add"}, "starter_code": "def other(): ..."},
        {"public_test_cases": json.dumps([CALL]), "metadata": '{"func_name": "add"}'},
        {"public_test_cases": json.dumps([CALL]), "metadata": "{}", "starter_code": STARTER},
        {"input_output": json.dumps({"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"})},
        [CALL | {"metadata": {"func_name": "add"}}, CALL | {"fn_name": "add"}],
        {"tests": {"fn_name": "add", "inputs": [[1, 2]], "outputs": [3]}},
    ],
    ids=str,
)
def test_the_function_that_is_called_is_found_where_datasets_name_it(reference: object) -> None:
    task = read_task(json.dumps(reference))
    assert task is not None
    assert task.function == "add"
    assert {test.kind for test in task.tests} == {"functional"}


@pytest.mark.parametrize(
    "reference",
    [
        [CALL],
        PLAIN,
        [CALL | {"fn_name": "add"}, CALL | {"fn_name": "sub"}],
        {"tests": [CALL], "metadata": "[1]"},
    ],
    ids=str,
)
def test_no_function_or_several_are_none(reference: object) -> None:
    task = read_task(json.dumps(reference))
    assert task is not None
    assert task.function is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("abc", '"abc"'), (["a", "b"], '["a", "b"]'), (None, "null"), ("3", '"3"'), ("é", '"é"'), (3, "3")],
)
def test_values_beside_arguments_in_a_list_are_values(value: object, text: str) -> None:
    reference = {"inputs": [["x"]], "outputs": [value], "fn_name": "f"}
    assert read_tests(json.dumps(reference)) == (Test('"x"', text, "functional"),)


def test_input_in_lines_is_joined() -> None:
    reference = {"inputs": [["2", "1 2"]], "outputs": [["3"]]}
    assert read_tests(json.dumps(reference)) == (Test("2\n1 2", "3", "stdin"),)


@pytest.mark.parametrize(
    "reference",
    [
        "", "12", "[1, 2]", "(3, 4)", r"\{1,2,3\}", "[]", "{}", "[[]]", "null", '"tests"', "#### 12",
        '{"answer": "12"}', '{"tests": []}', '{"tests": 3}', '{"tests": "some"}', '[{"input": "1"}]',
        '[{"output": "1"}]', '[{"input": "1", "output": null}]', '[{"input": "1", "output": "2"}, 3]',
        '{"inputs": ["1", "2"], "outputs": ["3"]}', '[{"input": "1", "output": "2"}',
        '{"public_test_cases": [{"input": "1", "output": "2"}], "private_test_cases": "eJxrYJmaw"}',
        "[" * 100_000, '{"tests":' * 100_000, "[" + "9" * 5000 + "]",
    ],
)  # fmt: skip
def test_what_is_not_wholly_tests_is_none(reference: str) -> None:
    assert read_tests(reference) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tests", "input", "inputs", "output", "outputs", "type", "metadata", "fn_name"]),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON.map(json.dumps) | st.text())
def test_no_reference_breaks_the_reading(reference: str) -> None:
    tests = read_tests(reference)
    assert tests is None or all(isinstance(text, str) for test in tests for text in test)
    assert tests != ()


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1))
def test_text_is_kept_to_the_letter(pairs: list[tuple[str, str]]) -> None:
    reference = json.dumps([{"input": one, "output": other} for one, other in pairs])
    assert read_tests(reference) == tuple(Test(one, other, "stdin") for one, other in pairs)
