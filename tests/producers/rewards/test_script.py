"""Programs before tests that are Python code. Those that attack them are in test_hostile_scripts.py."""

# ruff: noqa: E501 - programs are written as people would write them

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from mentor_stream.config import ConfigError
from producers.rewards.base import Reward
from producers.rewards.script import Config, build, check
from producers.rewards.script.completion import program_of
from producers.rewards.script.inside.values import pack, unpack
from producers.rewards.script.reference import read_script
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.verifiers import judged, needs_bubblewrap

R, W, U = Verdict.RIGHT, Verdict.WRONG, Verdict.UNSCORABLE

PROMPT = '''from typing import List

def helper(x): return x + 1

def total(xs: List[int]) -> int:
    """The sum of the numbers."""
'''
HUMANEVAL = {
    "prompt": PROMPT,
    "test": """
METADATA = {}
def check(candidate):
    assert candidate([1, 2, 3]) == 6, "one"
    assert candidate([]) == 0
    assert abs(candidate([helper(1)]) - 2.0) < 1e-6
""",
    "entry_point": "total",
}
MBPP = {
    "test_list": [
        "assert pairs({'a': (1, 2)}) == {('a', 3)}",
        "assert math.isclose(pairs({}, start=1.5), 1.5)",
    ],
    "test_setup_code": "",
    "test_imports": ["import math"],
}
PAIRS = "def pairs(d, start=None): return start if start else {(k, sum(v)) for k, v in d.items()}"
CASES = {
    "prompt": "import os\ndef listed(folder='.'):\n    '''Names in a folder.'''\n",
    "test": """
import unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    @patch('os.listdir')
    def test_names(self, listdir):
        listdir.return_value = ['b', 'a']
        self.assertEqual(listed('x'), ['a', 'b'])
    def test_parts(self):
        for name in ('x', 'y'):
            with self.subTest(name), open(name, 'w') as file:
                file.write('')
        self.assertEqual(listed(), ['x', 'y'])
    def test_error(self):
        with self.assertRaises(FileNotFoundError):
            listed('nowhere')
""",
    "entry_point": "listed",
}
LISTED = "def listed(folder='.'): return sorted(os.listdir(folder))"


@cache
def verifier(isolation: Any = "separate", **options: Any) -> Reward:
    return build(Config(isolation=isolation, **options))


def query(columns: dict[str, Any], solution: str | None = None) -> schemas.Query:
    return msgspec.structs.replace(a_query(reference=json.dumps(columns)), solution=solution)


def fenced(program: str) -> str:
    return f"It is this:\n```python\n{program}\n```\n"


@needs_bubblewrap
@pytest.mark.parametrize("isolation", ["separate", "shared"])
@pytest.mark.parametrize(
    ("columns", "completion", "verdict"),
    [
        (HUMANEVAL, fenced("def total(xs: List[int]): return sum(xs)"), R),
        (HUMANEVAL, fenced("from __future__ import annotations\ndef total(xs): return sum(xs)"), R),
        (HUMANEVAL, "    return sum(xs)\n\nprint(total([1]))", R),
        (HUMANEVAL, fenced("    return sum(xs)"), R),
        (HUMANEVAL, fenced("def total(xs): return sum(xs)") + "For example:\n" + fenced("total([1])"), R),
        (HUMANEVAL, fenced("total = sum"), R),
        (HUMANEVAL, fenced("import sys\nprint('x' * 100)\ninput and sys.stdout.write('+')\ntotal = sum"), R),
        (HUMANEVAL, fenced("def total(xs): return helper(sum(xs)) - 1"), R),
        (HUMANEVAL, fenced("def total(xs): return helper(sum(xs))"), W),
        (HUMANEVAL, fenced("def total(xs): return None"), W),
        (HUMANEVAL, fenced("def total(xs): return 1 / 0"), W),
        (HUMANEVAL, fenced("def total(xs: return sum(xs)"), W),
        (HUMANEVAL, fenced("def other(xs): return sum(xs)"), W),
        (HUMANEVAL, "I do not know.", W),
        (HUMANEVAL, "", W),
        (MBPP, fenced(PAIRS), R),
        (MBPP, fenced("def pairs(d, start=None): return start or set()"), W),
        (MBPP, "    return 1", W),
        ({"test_list": ["assert f(1) == OrderedDict(a=1)"]},
         fenced("from collections import OrderedDict\ndef f(x): return OrderedDict(a=x)"), R),
        ({"test_list": ["assert list(f(2)) == [0, 1]", "assert f(2) != [0, 1]"]},
         fenced("def f(n): yield from range(n)"), R),
        ({"test_list": ["assert f(2)(3) == 5"]}, fenced("def f(n): return lambda m: n + m"), R),
        ({"test_setup_code": "root = Node(1)\nroot.left = Node(2)", "test_list": ["assert depth(root) == 2"]},
         fenced("class Node:\n    left = None\n    def __init__(self, x): self.x = x\n"
                "def depth(n): return 1 + depth(n.left) if n else 0"), R),
        ({"test": "assert f(1) == 1\ntry: f(0)\nexcept ZeroDivisionError: pass\nelse: assert False",
          "entry_point": "f"}, fenced("def f(x): return 1 / x"), R),
    ],
)  # fmt: skip
def test_a_program_is_judged_by_tests_in_code(
    isolation: str, columns: dict[str, Any], completion: str, verdict: Verdict
) -> None:
    found, said = judged(verifier(isolation), query(columns), completion)
    assert found is verdict, said


@needs_bubblewrap
@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        (LISTED, R),
        ("import random\n" + LISTED, R),
        ("def listed(folder='.'): return ['x', 'y']", W),
        ("def listed(folder='.'): return os.listdir(folder + '/')", W),
        ("import unittest\ndef listed(folder='.'): raise unittest.SkipTest", W),
        ("import os\nos._exit(0)", W),
        ("import sys\nsys.exit(0)", W),
        (
            "import os\nfor n in range(1, 9):\n    try: os.write(n, b'#1\\n+\\n' * 9)\n    except OSError: pass",
            W,
        ),
        ("def listed(folder='.'):\n    while True: pass", W),
        ("import a_library_that_is_not_there\n" + LISTED, W),
    ],
)
def test_cases_of_unittest_replace_parts_of_the_programs_world_where_they_share_it(
    program: str, verdict: Verdict
) -> None:
    found, said = judged(verifier("shared", test_seconds=0.5), query(CASES), fenced(program))
    assert found is verdict, said


@needs_bubblewrap
def test_tests_that_the_known_solution_does_not_meet_here_condemn_nobody() -> None:
    apart = query(CASES, "    return sorted(os.listdir(folder))")
    for program in (LISTED, "def listed(folder): return 1"):
        verdict, said = judged(verifier(), apart, fenced(program))
        assert verdict is U, said
        assert "the question's own solution fails here: test 2 of 3: " in str(said)
    assert judged(verifier("shared"), apart, fenced("def listed(folder='.'): return 1"))[0] is W
    worked = query(HUMANEVAL, "Add them all up.")
    assert judged(verifier(), worked, fenced("def total(xs): return 1"))[0] is W, (
        "no program, so nothing to try"
    )


@needs_bubblewrap
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (HUMANEVAL | {"test": "import numpy\nfrom pandas.core import x\n" + HUMANEVAL["test"]},
         "numpy, pandas: not installed for programs. Set python to an interpreter that has it."),
        (CASES | {"libs": ["os", "nowhere_to_be_found"]}, "nowhere_to_be_found: not installed for programs"),
    ],
)  # fmt: skip
def test_a_library_that_the_question_needs_and_nobody_has_is_named(
    columns: dict[str, Any], reason: str
) -> None:
    for completion in (fenced("def total(xs): return sum(xs)"), "0"):
        assert reason in str(judged(verifier("shared"), query(columns), completion)[1])


@needs_bubblewrap
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([1], "no JSON object"),
        ({}, "neither a test_list nor a test with its entry_point"),
        ({"test": "assert f()"}, "neither a test_list nor a test with its entry_point"),
        ({"test_list": [1]}, "test_list of the reference is no list of texts"),
        ({"test_list": ["assert f("]}, "the tests are no Python"),
        ({"test_list": ["assert 1 == 1"]}, "the tests call nothing that a program could define"),
        (HUMANEVAL | {"test": "1 / 0\n" + HUMANEVAL["test"]}, "the tests cannot be held: ZeroDivisionError"),
        (HUMANEVAL | {"test": "def check(candidate): undefined"}, "the tests cannot be held: NameError"),
        (HUMANEVAL | {"test": "import os\nos._exit(0)"}, "the tests cannot be held"),
        (HUMANEVAL | {"test": "def check(f): f(lambda: 1)"}, "the tests hand over a function"),
        (HUMANEVAL | {"test": "import unittest\nclass T(unittest.TestCase): pass"}, "holds no tests"),
    ],
)
def test_tests_that_cannot_be_held_are_nobodys_answer(columns: Any, reason: str) -> None:
    verdict, said = judged(verifier(), query(columns), fenced("def f(x): return x\ntotal = f"))
    assert verdict is U
    assert reason in str(said)


@needs_bubblewrap
def test_the_share_of_tests_is_the_reward_where_that_is_asked_for() -> None:
    four = query({"test_list": [f"assert f({n}) == {n}" for n in range(4)]})
    found = verifier(reward="fraction").score(four, fenced("def f(n): return n if n != 2 else 1 / 0"))
    assert (found.right, found.reward) == (False, 0.75)
    assert found.remark == "passes 3 of 4 tests; test 3 of 4: ZeroDivisionError: division by zero (line 1)"
    found = verifier(reward="fraction").score(four, fenced("def f(n): return n if n < 2 else exit_at(0)"))
    assert found.reward == 0.5


@needs_bubblewrap
@pytest.mark.parametrize("isolation", ["separate", "shared"])
def test_the_remark_says_what_went_wrong_and_nothing_of_what_was_expected(isolation: str) -> None:
    asked = query({"test_list": ["assert f(1) == 4711, '4711'"]})
    for program in ("f = str", "def f(x): return 1 / 0", "f = 1", "def f(x): raise SystemExit", "def f(: 1"):
        judgement = verifier(isolation).score(asked, fenced(program))
        assert not judgement.right
        assert judgement.remark
        assert "4711" not in judgement.remark


def test_what_cannot_be_started_is_said_by_check() -> None:
    (problem,) = check(Config(python=Path("/nowhere/python")))
    assert problem.startswith("reward.verifier.python is '/nowhere/python'")
    with pytest.raises(ConfigError, match="nowhere"):
        build(Config(python=Path("/nowhere/python")))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.complex_numbers(allow_nan=False) | st.builds(range, st.integers(-9, 9), st.integers(-9, 9)),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner)
    | st.sets(st.integers() | st.tuples(st.text())) | st.frozensets(st.booleans()),
    max_leaves=8,
)  # fmt: skip


def nobody(value: object) -> object:
    raise AssertionError(value)


@given(PLAIN)
def test_a_plain_value_comes_over_as_it_is(value: object) -> None:
    found = unpack(json.loads(json.dumps(pack(value, nobody))), nobody)
    assert found == value
    assert repr(found) == repr(value) or isinstance(value, (list, tuple, dict, set, frozenset))


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON | st.dictionaries(st.sampled_from(["tuple", "dict", "set", "range", "bytes", "complex"]), JSON))
def test_what_is_no_value_raises_and_does_nothing_else(data: object) -> None:
    try:
        unpack(data, nobody)
    except Exception as error:
        assert isinstance(error, (ValueError, KeyError, TypeError, OverflowError, AssertionError))  # noqa: PT017


@given(st.text() | st.text("`~ \n<>think/def total():"))
def test_no_completion_breaks_the_search_for_its_program(completion: str) -> None:
    program = program_of(completion, read_script(json.dumps(HUMANEVAL)))
    assert program is None or isinstance(program, str)


@given(JSON.map(json.dumps) | st.text())
def test_no_reference_breaks_its_reader(reference: str) -> None:
    with pytest.raises(ValueError, match=r"reference|tests"):
        read_script(reference)
