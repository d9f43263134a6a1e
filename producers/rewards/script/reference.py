"""The tests of a question that are Python code, as its reference holds them: a dataset's columns in JSON.

HumanEval      {"prompt": "def f(x):...", "test": "def check(candidate): ...", "entry_point": "f"}
BigCodeBench   the same with "test": "class TestCases(unittest.TestCase): ...", and "libs": ["numpy", ...]
MBPP           {"test_list": ["assert f(1) == 2", ...], "test_setup_code": "", "test_imports": [...]}

A `test` of neither shape is a script that fails when it raises.
"""

import ast
import builtins
import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

MAX_CHARACTERS = 4_000_000
"""A longer reference is not read."""


class Script(NamedTuple):
    """What a program is tried with."""

    kind: Literal["asserts", "unittest"]
    prompt: str
    """Code that a completion may go on with."""
    context: str
    """Its beginning, up to the function to be written: what program and tests take for granted."""
    setup: str
    """Code before the tests."""
    tests: tuple[str, ...]
    """Code of each; of `unittest`, names of the classes."""
    names: tuple[str, ...]
    """What the program has to define, the function to be tested first."""
    libraries: tuple[str, ...]
    """What must be there to be imported, beside the standard library."""


@lru_cache(maxsize=8)
def read_script(reference: str) -> Script:
    """The tests in a reference. Raises ValueError with the reason when there are none."""
    if len(reference) > MAX_CHARACTERS:
        raise ValueError(f"the reference has more than {MAX_CHARACTERS} characters")
    try:
        found = json.loads(reference)
    except (ValueError, RecursionError) as error:
        raise ValueError("the reference is not in JSON") from error
    if not isinstance(found, dict):
        raise ValueError("the reference is no JSON object with tests")  # noqa: TRY004  it was read from a file
    try:
        return _asserts(found) if found.get("test_list") else _test(found)
    except (SyntaxError, RecursionError) as error:
        raise ValueError(f"the tests are no Python: {error}") from error


def _asserts(found: dict[str, Any]) -> Script:
    """MBPP's."""
    tests = _texts(found, "test_list")
    setup = "\n".join([*_texts(found, "test_imports"), _text(found, "test_setup_code")])
    free = _free_names("\n".join([setup, *tests]))
    modules = [name for name, called in free.items() if not called and name in sys.stdlib_module_names]
    names = sorted((name for name in free if name not in modules), key=lambda name: not free[name])
    if not names:
        raise ValueError("the tests call nothing that a program could define")
    setup = "\n".join([*(f"import {name}" for name in modules), setup])
    return Script("asserts", "", "", setup, tests, tuple(names), _libraries(found, setup))


def _test(found: dict[str, Any]) -> Script:
    """HumanEval's and BigCodeBench's."""
    test, entry, prompt = (_text(found, name) for name in ("test", "entry_point", "prompt"))
    if not test.strip() or not entry.isidentifier():
        raise ValueError("the reference has neither a test_list nor a test with its entry_point")
    body = ast.parse(test).body
    head = re.search(rf"^(?:async +)?def +{entry}\b", prompt, re.MULTILINE)
    context = prompt[: head.start()] if head else ""
    classes = tuple(part.name for part in body if isinstance(part, ast.ClassDef) and _is_case(part))
    libraries = _libraries(found, context + "\n" + test)
    if classes:
        return Script("unittest", prompt, context, test, classes, (entry,), libraries)
    if any(isinstance(part, ast.FunctionDef) and part.name == "check" for part in body):
        return Script("asserts", prompt, context, test, (f"check({entry})",), (entry,), libraries)
    return Script("asserts", prompt, context, "", (test,), (entry,), libraries)


def _is_case(part: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in part.bases)


def _text(found: dict[str, Any], column: str) -> str:
    value = found.get(column) or ""
    if not isinstance(value, str):
        raise ValueError(f"{column} of the reference is no text")  # noqa: TRY004  it was read from a file
    return value


def _texts(found: dict[str, Any], column: str) -> tuple[str, ...]:
    value = found.get(column) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{column} of the reference is no list of texts")
    return tuple(value)


def _free_names(code: str) -> dict[str, bool]:
    """Names that code uses and does not define, in order, and whether it calls them."""
    nodes = list(ast.walk(ast.parse(code)))
    bound = set(_bound(nodes)) | set(vars(builtins))
    called = {
        node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    loaded = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return {name: name in called for name in loaded if name not in bound}


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def _libraries(found: dict[str, Any], code: str) -> tuple[str, ...]:
    """Modules that a question names, and those that its own code imports."""
    names = set(_texts(found, "libs"))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    tops = {name.split(".")[0] for name in names}
    return tuple(sorted(name for name in tops if name.isidentifier() and name not in sys.stdlib_module_names))
