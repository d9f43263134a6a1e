"""Known datasets, on small files with their columns."""

import base64
import contextlib
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mentor_stream import answers
from mentor_stream.answers.programs import read_task
from producers.datasets import packed
from producers.datasets.base import DataConfig, DatasetError, Row
from producers.datasets.reading import read
from producers.rewards.script.completion import known_program
from producers.rewards.script.reference import read_script

GSM8K = {
    "question": "Natalia sold clips to 48 of her friends in April, and then half as many in May. How many?",
    "answer": "She sold 48/2 = <<48/2=24>>24 clips in May.\nIn all 48+24 = <<48+24=72>>72.\n#### 72",
}
MATH = {
    "problem": "What is $1+\\frac{1}{2}$?",
    "level": "Level 1",
    "type": "Algebra",
    "solution": "We have $1+\\frac{1}{2} = \\boxed{\\frac{3}{2}}$.",
}
DEEPMATH = {
    "question": "Evaluate the limit: \\[ \\lim_{x \\to \\infty} \\sqrt{x} \\]",
    "final_answer": "\\infty",
    "difficulty": 4.5,
    "topic": "Mathematics -> Precalculus -> Limits",
    **{f"r1_solution_{n}": "Okay, so I need to ..." for n in (1, 2, 3)},
}
PUBLIC = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
PRIVATE = [{"input": f"{n} {n}\n", "output": f"{2 * n}\n", "testtype": "stdin"} for n in range(50)]
LIVECODEBENCH = {
    "question_title": "Sum",
    "question_content": "Print the sum of two numbers.",
    "platform": "atcoder",
    "question_id": "abc001_a",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps(PUBLIC),
    "private_test_cases": base64.b64encode(zlib.compress(pickle.dumps(json.dumps(PRIVATE)))).decode(),
    "metadata": "{}",
}

HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def twice(x):\n    """Two times x."""\n',
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    "entry_point": "twice",
}
MBPP = {
    "task_id": 11,
    "text": "Write a function to double a number.",
    "code": "def twice(x):\r\n  return 2 * x",
    "test_list": ["assert twice(1) == 2", "assert twice(2) == 4"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
BIGCODEBENCH = {
    "task_id": "BigCodeBench/0",
    "complete_prompt": 'import numpy\ndef task_func(x):\n    """Two times x."""\n',
    "instruct_prompt": "Double x. You should write self-contained code starting with: ...",
    "canonical_solution": "    return 2 * x",
    "code_prompt": "import numpy\ndef task_func(x):\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_one(self): pass\n",
    "entry_point": "task_func",
    "doc_struct": "{}",
    "libs": "['numpy', 'os']",
}
MMLU = {
    "question": "What is 2 + 3? ",
    "subject": "arithmetic",
    "choices": ["4", "5 ", "6", "(A) and (B)"],
    "answer": 1,
}
OLYMPIADBENCH = {
    "id": 1,
    "question": "Find all $x$ with $x^2 = 4$.",
    "context": "Numbers are real.",
    "final_answer": ["2", "-2"],
    "solution": ["Take the root."],
    "unit": None,
    "is_multiple_answer": True,
}


def row(tmp_path: Path, columns: dict[str, Any], preset: Any, **settings: Any) -> Row:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(columns))
    return read(path, DataConfig(train=path, preset=preset, **settings), "data.train").rows[0]


def test_gsm8k_has_its_answer_behind_the_marks_and_a_solution_without_notes(tmp_path: Path) -> None:
    found = row(tmp_path, GSM8K, "gsm8k")
    assert found.question == GSM8K["question"]
    assert found.answer == "72"
    assert found.solution == "She sold 48/2 = 24 clips in May.\nIn all 48+24 = 72."


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (MATH["solution"], r"\frac{3}{2}"),
        (r"First \boxed{1}. No, it is \boxed{\text{(B)}}.", r"\text{(B)}"),
        (r"The roots are \boxed{1} and \boxed{2}.", "1, 2"),
        (r"So $x = \boxed 2$.", "2"),
        (r"So $x = \fbox{3}$.", "3"),
    ],
)
def test_math_has_its_answer_in_the_last_box_of_the_solution(
    tmp_path: Path, solution: str, answer: str
) -> None:
    found = row(tmp_path, MATH | {"solution": solution}, "math")
    assert (found.question, found.answer, found.solution) == (MATH["problem"], answer, solution)
    assert answers.readable(found.answer)


def test_math_500_says_its_answers_itself(tmp_path: Path) -> None:
    assert row(tmp_path, MATH | {"answer": "1.5"}, "math").answer == "1.5"


def test_deepmath_has_its_final_answer_and_a_solution_only_when_one_is_named(tmp_path: Path) -> None:
    found = row(tmp_path, DEEPMATH, "deepmath", extra=("difficulty",))
    assert (found.answer, found.solution, found.extra) == ("\\infty", None, {"difficulty": "4.5"})
    assert row(tmp_path, DEEPMATH, "deepmath", solution="r1_solution_2").solution == "Okay, so I need to ..."


def test_livecodebench_has_its_public_and_its_packed_private_tests(tmp_path: Path) -> None:
    found = row(tmp_path, LIVECODEBENCH, "livecodebench")
    task = read_task(found.answer)
    assert task is not None
    assert [(test.input, test.output, test.kind) for test in task.tests] == [
        (test["input"], test["output"], "stdin") for test in PUBLIC + PRIVATE
    ]
    assert found.question.startswith("Print the sum of two numbers.\n\nRead from the standard input")


def test_livecodebench_says_which_function_is_tested(tmp_path: Path) -> None:
    starter = "class Solution:\n    def twice(self, n: int) -> int:\n        "
    tests = [{"input": "1", "output": "2", "testtype": "functional"}]
    columns = {
        "public_test_cases": json.dumps(tests),
        "private_test_cases": json.dumps(tests),
        "starter_code": starter,
        "metadata": json.dumps({"func_name": "twice"}),
    }
    found = row(tmp_path, LIVECODEBENCH | columns, "livecodebench")
    task = read_task(found.answer)
    assert task is not None
    assert task.function == "twice"
    assert [test.kind for test in task.tests] == ["functional", "functional"]
    assert starter.strip() in found.question


def test_code_with_tests_in_code_is_a_reference_that_its_verifier_reads(tmp_path: Path) -> None:
    found = row(tmp_path, HUMANEVAL, "humaneval")
    assert (found.question, found.solution) == (HUMANEVAL["prompt"], HUMANEVAL["canonical_solution"])
    assert read_script(found.answer).tests == ("check(twice)",)

    for columns in (MBPP, MBPP | {"prompt": MBPP["text"], "test_imports": ["import math"]}):
        found = row(tmp_path, columns, "mbpp")
        assert found.question.startswith("Write a function to double a number.")
        assert "assert twice(2) == 4" in found.question
        assert found.solution == MBPP["code"]
        assert read_script(found.answer).names == ("twice",)

    found = row(tmp_path, BIGCODEBENCH, "bigcodebench")
    assert found.question == BIGCODEBENCH["instruct_prompt"]
    script = read_script(found.answer)
    assert (script.kind, script.tests, script.libraries) == ("unittest", ("TestCases",), ("numpy",))
    assert known_program(found.solution, script) is not None


def test_mmlu_has_its_options_in_the_question_and_a_letter_for_the_right_one(tmp_path: Path) -> None:
    found = row(tmp_path, MMLU, "mmlu", extra=("choices",))
    assert found.question == "What is 2 + 3?\n\n(A) 4\n(B) 5\n(C) 6\n(D) (A) and (B)"
    assert (found.answer, json.loads(found.extra["choices"])) == ("B", MMLU["choices"])


def test_olympiadbench_has_several_answers_as_one_and_what_goes_before_a_question(tmp_path: Path) -> None:
    found = row(tmp_path, OLYMPIADBENCH, "olympiadbench")
    assert found.question == "Numbers are real.\n\nFind all $x$ with $x^2 = 4$."
    assert (found.answer, found.solution) == ("2, -2", "Take the root.")
    assert answers.equivalent(found.answer, "-2, 2")
    assert row(tmp_path, OLYMPIADBENCH | {"unit": "m/s"}, "olympiadbench").question.endswith("is in m/s.")


def test_private_tests_beyond_the_bytes_that_are_wanted_are_left_out(tmp_path: Path) -> None:
    found = row(tmp_path, LIVECODEBENCH, "livecodebench", max_tests_bytes=600)
    task = read_task(found.answer)
    assert task is not None
    assert 1 < len(task.tests) < 20
    assert len(found.answer) < 1000


@pytest.mark.parametrize(
    ("preset", "columns", "complaint"),
    [
        ("gsm8k", {"question": "?", "answer": "72"}, "column 'answer' does not end in ####"),
        ("gsm8k", {"question": "?"}, "no column 'answer'"),
        ("gsm8k", GSM8K | {"question": " "}, "column 'question' is empty"),
        ("math", MATH | {"solution": "It is 3/2."}, "holds no \\boxed answer"),
        ("math", {"question": "?", "answer": "1"}, "no column 'solution'"),
        ("deepmath", GSM8K, "no column 'final_answer'"),
        ("humaneval", MBPP, "no column 'prompt'"),
        ("mbpp", MBPP | {"test_list": "?"}, "column 'test_list' holds no list of texts"),
        ("mbpp", HUMANEVAL, "no column 'test_list'"),
        ("bigcodebench", HUMANEVAL, "no column 'complete_prompt'"),
        ("bigcodebench", BIGCODEBENCH | {"libs": "numpy"}, "column 'libs' holds no list of libraries"),
        ("mmlu", MMLU | {"answer": 4}, "column 'answer' is '4', the number of no option"),
        ("mmlu", MMLU | {"answer": "B"}, "column 'answer' is 'B', the number of no option"),
        ("mmlu", MMLU | {"choices": ["one"]}, "column 'choices' holds 1 options"),
        ("mmlu", MMLU | {"choices": [1, 2]}, "column 'choices' holds no list of texts"),
        ("olympiadbench", OLYMPIADBENCH | {"final_answer": None}, "column 'final_answer' is None"),
        ("olympiadbench", OLYMPIADBENCH | {"final_answer": [""]}, "holds no answer"),
        ("livecodebench", LIVECODEBENCH | {"private_test_cases": "?"}, "neither JSON nor base64"),
        ("livecodebench", LIVECODEBENCH | {"private_test_cases": "{}"}, "holds no list of tests"),
        ("livecodebench", LIVECODEBENCH | {"public_test_cases": "[1]"}, "holds no list of tests"),
        ("livecodebench", LIVECODEBENCH | {"question_content": " "}, "column 'question_content' is empty"),
        (
            "livecodebench",
            LIVECODEBENCH | {"public_test_cases": "[]", "private_test_cases": "[]"},
            "it has no tests",
        ),
    ],
)
def test_what_is_another_dataset_than_the_preset_is_named(
    tmp_path: Path, preset: str, columns: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DatasetError) as caught:
        row(tmp_path, columns, preset)
    assert "a.jsonl line 1: " in str(caught.value)
    assert complaint in str(caught.value)


def test_a_preset_and_columns_of_ones_own_are_not_mixed() -> None:
    with pytest.raises(ValidationError, match="preset 'math' knows the columns, and answer names them"):
        DataConfig(train=Path("a"), preset="math", answer="final_answer")


def test_heldout_questions_may_have_another_preset(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(MATH))
    config = DataConfig(train=path, heldout=path, preset="deepmath", heldout_preset="math")
    assert read(path, config, "data.heldout").rows[0].answer == r"\frac{3}{2}"
    with pytest.raises(DatasetError, match="no column 'question'"):
        read(path, config, "data.train")


@given(st.text(max_size=300), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_a_pickled_string_is_read_in_every_protocol(text: str, protocol: int) -> None:
    assert packed.pickled_string(pickle.dumps(text, protocol)) == text


class Hostile:
    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


@pytest.mark.parametrize("value", [Hostile(), ["a"], {"a": "b"}, ("a", Hostile()), 7, b"a", None])
def test_a_pickle_of_anything_but_a_string_is_refused_and_nothing_of_it_is_run(
    value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = base64.b64encode(zlib.compress(pickle.dumps(value))).decode()
    with pytest.raises(ValueError, match="its pickle holds"):
        packed.unpacked(text)
    assert not list(tmp_path.iterdir())


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_read_or_refused(data: bytes) -> None:
    for text in (data.decode("latin-1"), base64.b64encode(data).decode()):
        with pytest.raises(ValueError, match=r"."):
            packed.unpacked(text)
    with contextlib.suppress(ValueError):
        packed.pickled_string(data)


def test_what_would_unpack_to_more_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_UNPACKED", 2**20)
    bomb = base64.b64encode(zlib.compress(pickle.dumps("0" * 2**22))).decode()
    with pytest.raises(ValueError, match="more than 1 MB when unpacked"):
        packed.unpacked(bomb)
    with pytest.raises(ValueError, match="ends too soon"):
        packed.unpacked(base64.b64encode(zlib.compress(pickle.dumps("abc" * 99))[:-8]).decode())
