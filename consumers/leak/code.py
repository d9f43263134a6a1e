"""What a hint to a code question must not say: the solution's statements, hidden tests, a program. No I/O."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from consumers.leak.decision import MAX_CHARACTERS
from consumers.leak.hidden import told
from consumers.leak.program import program
from consumers.leak.statements import copied
from consumers.leak.steps import repeated
from mentor_stream.answers.blocks import fenced, unfenced
from mentor_stream.answers.programs import Test

MAX_TESTS = 4_000_000
"""Characters of tests that are searched."""


_CODE = re.compile(r"^\W{0,4}(?:assert\b|def \w+\(|class \w+|import \w+|from \w+ import\b)", re.MULTILINE)


def as_code(reference: str) -> str | None:
    """The code that a reference is when it is no list of tests: assertions, also in JSON.

    There they are a list, which may be the `test_list` of an object (MBPP), or its `test`, which may call the
    `entry_point` by another name (HumanEval).
    """
    if reference.lstrip().startswith(("[", "{")) and len(reference) <= MAX_TESTS:
        with suppress(ValueError, RecursionError):
            found: Any = json.loads(reference)
            if isinstance(found, dict):
                found = found.get("test_list") or _test(found)
            if isinstance(found, list) and all(isinstance(line, str) for line in found):
                reference = "\n".join(found)
    return reference if _CODE.search(reference) else None


def _test(columns: dict[str, Any]) -> list[Any]:
    test = columns.get("test")
    renamed = str(test).replace("candidate(", f"{columns.get('entry_point')}(")
    return [test, renamed]


def find_code_leak(
    hint: str, question: str, reference: str, tests: Sequence[Test], solution: str | None
) -> str | None:
    """What in the hint gives the solution or a hidden test away, or None.

    What the question shows is no secret. A reference that is no list of tests (assertions, a program) is
    searched for as a solution is. A hint too long, or tests too large to be searched, count as a leak.
    """
    if len(hint) > MAX_CHARACTERS:
        return f"a hint of {len(hint)} characters cannot be searched for the solution"
    if len(reference) > MAX_TESTS:
        return f"tests of {len(reference)} characters cannot be searched for what the hint says"
    known = solution or ""
    if statement := copied(hint, question, known if tests else f"{known}\n{as_code(reference) or reference}"):
        return f"the hint copies the solution: {statement[:200]}"
    if sentence := repeated(hint, question, unfenced(known) if fenced(known) else ""):
        return f"the hint repeats the worked solution: {sentence}"
    found = program(hint) or told(hint, question, tests)
    return f"the hint gives away {found}" if found else None
