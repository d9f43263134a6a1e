"""Programs against their tests. Those that misbehave are in test_hostile_programs.py."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers.programs import Test
from producers.rewards.base import Judgement
from producers.rewards.code.comparison import same_output, same_value
from producers.rewards.code.execution import Job
from producers.rewards.code.program import last_program, preamble
from producers.rewards.code.trial import answered
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.labelled import Labelled, programs
from tests.producers.rewards.verifiers import judged, needs_bubblewrap, verifier

CASES = list(programs())


@needs_bubblewrap
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_program_is_judged_as_it_is_labelled(case: Labelled) -> None:
    verdict, said = judged(verifier(**case.options), case.query, case.completion)
    assert verdict is case.verdict, said


@needs_bubblewrap
def test_a_program_finds_what_the_linker_knows_and_nothing_else_of_the_system_s_settings() -> None:
    """A Python in /usr/local may have its own library from there: without it no program starts."""
    look = "import os\nprint(*os.listdir('/etc'))\nprint(open('/etc/ld.so.cache', 'rb').read(10).decode())"
    found = json.dumps([{"input": "", "output": "ld.so.cache\nglibc-ld.s"}])
    verdict, said = judged(verifier(), a_query(reference=found), f"```python\n{look}\n```")
    assert verdict is Verdict.RIGHT, said


@needs_bubblewrap
def test_the_share_of_tests_is_the_reward_where_that_is_asked_for() -> None:
    reference = json.dumps({"inputs": ["1", "2", "3", "4"], "outputs": ["1", "2", "3", "4"]})
    program = "```python\nx = int(input())\nprint(x if x != 2 else 1 / 0)\n```"
    query = a_query(reference=reference)
    assert verifier(reward="fraction").score(query, program) == Judgement(
        False, 0.75, "passes 3 of 4 tests; test 2 of 4: ZeroDivisionError: division by zero (line 2)"
    )
    assert verifier().score(query, program) == Judgement(
        False, 0.0, "test 2 of 4: ZeroDivisionError: division by zero (line 2)"
    )


@needs_bubblewrap
@pytest.mark.parametrize("trouble", ["1 / 0", "exit()", "os._exit(0)", "None"])
def test_calls_behind_one_that_failed_count_towards_the_share(trouble: str) -> None:
    reference = json.dumps({"fn_name": "f", "inputs": [[1], [2], [3]], "outputs": [1, 2, 3]})
    program = f"```python\nimport os\ndef f(x):\n    return x if x != 2 else {trouble}\n```"
    judgement = verifier(reward="fraction").score(a_query(reference=reference), program)
    assert judgement.reward == pytest.approx(2 / 3)


@needs_bubblewrap
def test_the_remark_says_what_went_wrong_and_nothing_of_what_was_expected() -> None:
    reference = json.dumps([{"input": "17", "output": "4711"}])
    for program in ("print(1)", "print(input())", "1 / 0", "", "import os; os._exit(3)", "exit('4712')"):
        judgement = verifier().score(a_query(reference=reference), f"```python\n{program}\n```")
        assert judgement.remark.startswith("test 1 of 1: ")
        assert "4711" not in judgement.remark


@pytest.mark.parametrize(
    ("same", "printed", "expected"),
    [
        (True, "", ""),
        (True, "\n\n", ""),
        (True, "1\n", "1"),
        (True, " 1  \n2 ", "1\n2\n"),
        (True, "1.0 2", "1 2.00"),
        (True, "1e3", "1000"),
        (False, "1\n\n2", "1\n2"),
        (False, "1 2", "1\n2"),
        (False, "1  a", "1 a"),
        (False, "0.30000000000000004", "0.3"),
        (False, "nan", "NaN"),
        (False, "sNaN", "NaN"),
        (False, "1" * 5000, "2" * 5000),
        (False, "yes", "Yes"),
        (False, "\udcff", "\ufffd"),
    ],
)
def test_output_is_compared_by_line_and_as_decimals(same: bool, printed: str, expected: str) -> None:
    assert same_output(printed, expected) is same


def test_values_are_compared_as_data() -> None:
    assert same_value([1, [2.0, None], {"a": "b"}], '[1, [2, null], {"a": "b"}]')
    assert not same_value([1], "[1, 2]")
    assert not same_value(float("nan"), "NaN")
    assert not same_value("1", "1")


@given(st.text(), st.text())
def test_output_is_the_same_both_ways_round(one: str, other: str) -> None:
    assert same_output(one, one)
    assert same_output(one, other) is same_output(other, one)


BYTES = st.binary(max_size=30) | st.text("19eE.+-_ \nNasinf\u0661\u2028", max_size=30).map(str.encode)


@given(BYTES, BYTES)
def test_no_bytes_break_the_comparison(printed: bytes, expected: bytes) -> None:
    one, other = (text.decode(errors="surrogateescape") for text in (printed, expected))
    assert same_output(one, other) in (True, False)


@given(
    st.sampled_from([b'{"value": ', b'{"error": ', b"", b'{"value"']),
    BYTES | st.integers(1, 3000).map(lambda depth: b"[" * depth + b"]" * depth),
    st.sampled_from([b"}", b""]),
)
def test_no_answer_breaks_the_reading(head: bytes, body: bytes, tail: bytes) -> None:
    outcome = answered(head + body + tail, Test("1", '"471100112233"', "functional"))
    assert not outcome.passed
    assert outcome.remark.isprintable()


@given(st.text(), st.text(), st.lists(st.text("abc1")))
def test_a_job_says_how_long_its_parts_are(program: str, function: str, calls: list[str]) -> None:
    encoded = Job("import re", program, function, calls).encoded()
    sizes, _, rest = encoded.partition(b"\n")
    assert sum(map(int, sizes.split())) == len(rest)


@given(st.text() | st.text("`~ \n<>think/"))
def test_no_completion_breaks_the_search_for_its_program(completion: str) -> None:
    program = last_program(completion)
    assert program is None or program in completion


def test_only_what_a_program_mentions_is_imported_for_it() -> None:
    assert preamble("print(1)") == ""
    assert preamble("x: List[int] = deque()") == "from typing import List\nfrom collections import deque"
    assert preamble("math.pi + bisect.bisect(a, 1)").splitlines()[0] == "import math"
    assert preamble("pow(2, 3); open(0)") == ""  # builtins stay what they are
