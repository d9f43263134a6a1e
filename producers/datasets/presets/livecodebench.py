"""LiveCodeBench (livecodebench/code_generation_lite): programs, with public and packed private tests."""

import json
import logging
from typing import Any

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.packed import unpacked
from producers.datasets.presets import Fields

QUESTION = "question_content"
VERIFIER = "code"
REMEDY = "data.preset 'livecodebench' wants it; for another dataset take data.preset out."
_STARTER = "\n\nComplete this code:\n```python\n{code}\n```"
_STDIN = "\n\nRead from the standard input and write to the standard output."
_NAMES = 50
"""Characters that a test's JSON has besides its values."""

log = logging.getLogger(__name__)


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The reference is JSON, as mentor_stream/answers/programs.py reads it.

    Private tests are kept in their order until data.max_tests_bytes; all public ones are kept.
    """
    public = _tests(columns, "public_test_cases")
    private = _tests(columns, "private_test_cases") if columns.has("private_test_cases") else []
    kept = _within(private, config.max_tests_bytes)
    if not public and not kept:
        raise columns.error("it has no tests, or none within data.max_tests_bytes")
    if len(kept) < len(private):
        log.info("%s", columns.error(f"{len(private) - len(kept)} of {len(private)} private tests left out"))
    starter = columns.text("starter_code", REMEDY) if columns.has("starter_code") else ""
    reference = {
        "public_test_cases": public,
        "private_test_cases": kept,
        "starter_code": starter,
        "metadata": _json(columns, "metadata") if columns.has("metadata") else {},
    }
    task = _STARTER.format(code=starter.strip()) if starter.strip() else _STDIN
    question = columns.text(QUESTION, REMEDY)
    return Fields(question + task if question.strip() else "", json.dumps(reference), None)


def _tests(columns: Columns, column: str) -> list[dict[str, Any]]:
    """The tests in a column: JSON, or JSON that was packed."""
    found = _json(columns, column)
    if not isinstance(found, list) or not all(isinstance(test, dict) for test in found):
        raise columns.error(f"column {column!r} holds no list of tests. {REMEDY}")
    return found


def _json(columns: Columns, column: str) -> Any:
    text = columns.text(column, REMEDY)
    try:
        if not text.lstrip().startswith(("[", "{")):
            text = unpacked(text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise columns.error(f"column {column!r} cannot be read: {error}. {REMEDY}") from error


def _within(tests: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """The first tests, as many as have about `size` bytes as JSON."""
    kept: list[dict[str, Any]] = []
    for test in tests:
        size -= _NAMES + sum(len(str(value)) for value in test.values())
        if size < 0:
            break
        kept.append(test)
    return kept
