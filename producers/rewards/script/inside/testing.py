"""The tests' side: holds them, and asks the program's side where they call it."""

import builtins
import json
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from producers.rewards.script.inside.running import PROGRAM, ends, module, reason, run, said
from producers.rewards.script.inside.values import Handle, pack, unpack


class Unfit(Exception):
    """The tests cannot be held here, whatever the program."""


def test(task: dict[str, Any]) -> None:
    """The tests' side. Says #N of how many there are, after each + or - and why, or ! and why none.

    Everything that is said begins with the token of the task, which nobody knows who did not read it here.
    """
    answers, say = ends()
    token, asked = task["token"], []
    scope, tell = module("tests"), lambda text: say(token + text)

    def ask(what: str, of: Any, *given: Any) -> Any:
        asked.append(1)
        tell("?" + json.dumps([what, {"object": of}, *(pack(part, name_of) for part in given)]))
        return _answer(answers.readline(), lambda found: Handle(ask, found))

    run_cases = _importing_cases() if task["kind"] == "unittest" else None
    try:
        _prepare(task, scope, ask)
    except BaseException as error:
        return tell(f"-{reason(error)}" if asked or task["program"] is not None else f"!{said(error)}")
    if run_cases is not None:
        return run_cases([getattr(scope, name) for name in task["tests"]], tell)
    tell(f"#{len(task['tests'])}")
    for code in task["tests"]:
        try:
            run(code, "test.py", scope)
        except BaseException as error:
            broken = isinstance(error, Unfit) or not (asked or task["program"] is not None)
            tell(f"!{said(error)}" if broken else f"-{reason(error)}")
        else:
            tell("+")
    return None


def _importing_cases() -> Callable[..., None]:
    """Before a program could put another unittest in its place."""
    from producers.rewards.script.inside.cases import run_cases

    return run_cases


def _prepare(task: dict[str, Any], scope: ModuleType, ask: Callable[..., Any]) -> None:
    """What the tests find: the program itself, or a way to ask it, then their own."""
    run(task["context"], "context.py", scope)
    if task["program"] is None:
        vars(scope).update({name: Handle(ask, name) for name in task["names"]})
    else:
        os.environ["MPLBACKEND"] = "Agg"  # no screen in here
        run(task["program"], PROGRAM, scope)
    run(task["setup"], "setup.py", scope)


def _answer(line: bytes, known: Callable[[Any], Any]) -> Any:
    """What the program's side answers. Its errors are raised, as the nearest class of Python's own."""
    try:
        answer = json.loads(line)
        if "value" in answer:
            return unpack(answer["value"], known)
        classes, words = answer["error"]
    except Exception:
        classes, words = [], "it returns what cannot be read"
    found = (getattr(builtins, str(name), None) for name in classes)
    raised = next((one for one in found if isinstance(one, type) and issubclass(one, Exception)), Exception)
    if issubclass(raised, (StopIteration, StopAsyncIteration)):
        raised = RuntimeError  # the other would end a loop of the tests as if all were well
    try:
        error = raised(words)
    except TypeError:
        error = Exception(words)
    error.of_program = str(words)  # pyright: ignore[reportAttributeAccessIssue]
    raise error


def name_of(value: Any) -> str | int:
    """How to write what cannot be handed over as a value."""
    if isinstance(value, Handle):
        return object.__getattribute__(value, "_of")
    raise Unfit(f"the tests hand over a {type(value).__name__}, which stays in their interpreter")
