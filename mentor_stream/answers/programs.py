r"""The tests of a code question, as its reference holds them: JSON in any of the usual shapes.

LiveCodeBench  [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}, ...], also below `tests`,
               `test_cases`, or `public_test_cases` and `private_test_cases`, there also as a JSON string
APPS, TACO     {"inputs": [...], "outputs": [...], "fn_name": "add"}
CodeContests   {"public_tests": {"input": [...], "output": [...]}, "private_tests": {...}, ...}

A functional test's input is one JSON value a line, an argument each; its output is one JSON value.
LiveCodeBench's packed private tests (pickled, compressed) are not read: unpack them when making the dataset.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, cast

MAX_CHARACTERS = 32_000_000
"""A longer reference is not read."""

Kind = Literal["stdin", "functional"]


class Test(NamedTuple):
    """One test: what a program reads and has to print, or a function's arguments and value."""

    __test__ = False  # pytest takes it for a test of its own otherwise

    input: str
    output: str
    kind: Kind


@lru_cache(maxsize=8)
def read_tests(reference: str) -> tuple[Test, ...] | None:
    """The tests that a reference holds, in order; None when it is anything else, or tests only in part.

    The last references are remembered: they may be megabytes, and a case is read for all of its calls.
    """
    if len(reference) > MAX_CHARACTERS or not reference.lstrip().startswith(("[", "{")):
        return None
    try:
        return tuple(_tests(json.loads(reference), "stdin")) or None
    except (ValueError, RecursionError):
        return None


_INPUTS = ("inputs", "input")
_OUTPUTS = ("outputs", "output", "expected_output")
_PARTS = (
    "tests", "test_cases", "input_output", "sample_tests", "public_test_cases", "public_tests",
    "official_tests", "private_test_cases", "private_tests", "hidden_tests", "generated_tests",
)  # fmt: skip
_FUNCTIONS = ("fn_name", "func_name")


def _tests(value: object, kind: Kind) -> list[Test]:
    """The tests in a JSON value. Raises ValueError where it is none."""
    if isinstance(value, str):
        value = json.loads(value)
    if isinstance(value, list):
        return [_test(_object(item), kind) for item in cast("list[object]", value)]
    found = _object(value)
    inputs, outputs = _first(found, _INPUTS), _first(found, _OUTPUTS)
    if isinstance(inputs, list) and isinstance(outputs, list):
        columns = cast("list[object]", inputs), cast("list[object]", outputs)
        return [_read(*pair, _kind(found, kind)) for pair in zip(*columns, strict=True)]
    if outputs is not None:
        return [_test(found, kind)]
    parts = [found[name] for name in _PARTS if found.get(name) is not None]
    if not parts:
        raise ValueError
    return [test for part in parts for test in _tests(part, _kind(found, kind))]


def _test(found: Mapping[str, object], kind: Kind) -> Test:
    return _read(_first(found, _INPUTS), _first(found, _OUTPUTS), _kind(found, kind))


def _read(given: object, expected: object, kind: Kind) -> Test:
    if given is None or expected is None:
        raise ValueError
    return Test(_text(given, kind), _text(expected, "stdin"), kind)


def _kind(found: Mapping[str, object], otherwise: Kind) -> Kind:
    """What an object says of its tests: by a type, or by naming a function."""
    stated = _first(found, ("testtype", "type", "test_type"))
    if isinstance(stated, str):
        return "functional" if stated.startswith("func") else "stdin"
    about = cast("Mapping[str, object] | None", found.get("metadata"))
    named = [found, about] if isinstance(about, dict) else [found]
    return "functional" if any(_first(one, _FUNCTIONS) for one in named) else otherwise


def _text(value: object, kind: Kind) -> str:
    """A value as a test has it: text as it is, lines joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[object]", value)
        if kind == "functional":
            return "\n".join(json.dumps(item) for item in items)
        if items and all(isinstance(item, str) for item in items):
            return "\n".join(cast("Sequence[str]", items))
    return json.dumps(value)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004  what stands here was read from a file
    return cast("Mapping[str, object]", value)


def _first(found: Mapping[str, object], names: Sequence[str]) -> object:
    """The first of some values that is there, of the names that one thing has in different datasets."""
    return next((found[name] for name in names if found.get(name) is not None), None)
