r"""The tests of a code question, as its reference holds them: JSON in any of the usual shapes.

LiveCodeBench  [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}, ...], also below `tests`,
               `test_cases`, or `public_test_cases` and `private_test_cases`, there also as a JSON string
               (`metadata` may name the function, `starter_code` hold its head; either as JSON text, too)
APPS, TACO     {"inputs": [...], "outputs": [...], "fn_name": "add"}
CodeContests   {"public_tests": {"input": [...], "output": [...]}, "private_tests": {...}, ...}

A functional test's input is one JSON value a line, an argument each; its output is one JSON value. Where the
reference has the arguments as a list, the output is a value, too, and no JSON text.
LiveCodeBench's packed private tests (pickled, compressed) are not read: the dataset preset unpacks them.
"""

import json
import re
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


class Task(NamedTuple):
    """What a program is tried with. `function` is what functional tests call, where the reference says it."""

    tests: tuple[Test, ...]
    function: str | None


def read_tests(reference: str) -> tuple[Test, ...] | None:
    """The tests that a reference holds, in order; None when it is anything else, or tests only in part."""
    task = read_task(reference)
    return task.tests if task else None


@lru_cache(maxsize=8)
def read_task(reference: str) -> Task | None:
    """The tests and what they call; None as for `read_tests`.

    The last references are remembered: they may be megabytes, and a case is read for all of its calls.
    """
    if len(reference) > MAX_CHARACTERS or not reference.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(reference)
        tests = tuple(_tests(value, "stdin"))
        return Task(tests, function_name(value)) if tests else None
    except (ValueError, RecursionError):
        return None


def function_name(value: object) -> str | None:
    """The one function that a JSON value names: as `fn_name`, in its metadata, or by its starter code."""
    found = _mapping(value)
    if found is None:
        items = cast("list[object]", value) if isinstance(value, list) else []
        names = {name for item in items if (name := function_name(item))}
        return names.pop() if len(names) == 1 else None
    inner = [_mapping(found.get(name)) for name in ("metadata", "input_output")]
    stated = [_first(one, _FUNCTIONS) for one in (found, *inner) if one]
    if name := next((name for name in stated if isinstance(name, str)), None):
        return name
    if isinstance(starter := found.get("starter_code"), str) and (heads := _HEAD.findall(starter)):
        return heads[-1]
    return next((name for part in _PARTS if (name := function_name(found.get(part)))), None)


_INPUTS = ("inputs", "input")
_OUTPUTS = ("outputs", "output", "expected_output")
_PARTS = (
    "tests", "test_cases", "input_output", "sample_tests", "public_test_cases", "public_tests",
    "official_tests", "private_test_cases", "private_tests", "hidden_tests", "generated_tests",
)  # fmt: skip
_FUNCTIONS = ("fn_name", "func_name")
_HEAD = re.compile(r"^[ \t]*def (?!__)(\w+)", re.MULTILINE)


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
    if (expected := _first(found, _OUTPUTS)) is None:
        raise ValueError
    return _read(_first(found, _INPUTS), expected, _kind(found, kind))


def _read(given: object, expected: object, kind: Kind) -> Test:
    if given is None or (expected is None and kind == "stdin"):
        raise ValueError
    if kind == "functional" and not (isinstance(given, str) and isinstance(expected, str)):
        return Test(_text(given, kind), json.dumps(expected, ensure_ascii=False), kind)
    return Test(_text(given, kind), _text(expected, kind), kind)


def _kind(found: Mapping[str, object], otherwise: Kind) -> Kind:
    """What an object says of its tests: by a type, or by naming a function."""
    stated = _first(found, ("testtype", "type", "test_type"))
    if isinstance(stated, str):
        return "functional" if stated.startswith("func") else "stdin"
    about = _mapping(found.get("metadata"))
    return "functional" if any(_first(one, _FUNCTIONS) for one in (found, about) if one) else otherwise


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


def _mapping(value: object) -> Mapping[str, object] | None:
    """A JSON object, or text that holds one; None for all else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004  what stands here was read from a file
    return cast("Mapping[str, object]", value)


def _first(found: Mapping[str, object], names: Sequence[str]) -> object:
    """The first of some values that is there, of the names that one thing has in different datasets."""
    return next((found[name] for name in names if found.get(name) is not None), None)
