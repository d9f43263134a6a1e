"""The program's side: runs it, then answers what the tests ask of it."""

import json
from types import ModuleType
from typing import Any

from producers.rewards.script.inside.running import PROGRAM, ends, module, run, said
from producers.rewards.script.inside.values import pack, unpack


def serve(context: str, program: str) -> None:
    """Run a program, and answer as long as there are questions. One that raises does so at each."""
    questions, say = ends()
    scope = module("program")
    answering = _Answering(scope)
    try:
        run(context, "context.py", scope)
        run(program, PROGRAM, scope)
    except BaseException as error:
        refusal = _refusal(error)
        for _ in questions:
            say(refusal)
    for line in questions:
        try:
            message = answering.answer(line)
        except BaseException as error:
            message = _refusal(error)
        say(message)


class _Answering:
    """What the program made that is not plain stays here, and is called by its number."""

    def __init__(self, scope: ModuleType) -> None:
        self._scope = scope
        self._kept: list[Any] = []

    def answer(self, line: bytes) -> str:
        what, *parts = json.loads(line)
        of, *given = (unpack(part, self._known) for part in parts)
        return json.dumps({"value": pack(_done(what, of, *given), self._keep)}, separators=(",", ":"))

    def _known(self, of: str | int) -> Any:
        return getattr(self._scope, of) if isinstance(of, str) else self._kept[of]

    def _keep(self, value: Any) -> int:
        self._kept.append(value)
        return len(self._kept) - 1


def _done(what: str, of: Any, *given: Any) -> Any:
    """What a question asks for."""
    if what == "call":
        return of(*given[0], **given[1])
    if what == "list":
        return list(of)
    return getattr(of, *given) if what == "get" else setattr(of, *given)


def _refusal(error: BaseException) -> str:
    return json.dumps({"error": [[one.__name__ for one in type(error).__mro__], said(error)]})
