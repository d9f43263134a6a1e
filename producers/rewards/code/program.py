"""Which program a completion gives, and the names that it may take for granted. Pure."""

import builtins
import importlib
import re
from functools import cache

from mentor_stream.answers.blocks import blocks
from mentor_stream.answers.thinking import after_thinking

MAX_CHARACTERS = 1_000_000
"""No program is longer; of a completion no more than the end is searched."""
PYTHON = ("", "python", "python3", "py", "py3")
_MODULES = (
    "string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics",
    "itertools", "functools", "operator", "io", "sys", "json",
)  # fmt: skip
_NAME = re.compile(r"[^\W\d]\w*")


def last_program(completion: str) -> str | None:
    """The last block of code behind the thinking that is Python, or of no language, if there is one."""
    answer = after_thinking(completion)
    found = blocks(answer[-MAX_CHARACTERS:]) if answer else []
    return next((block.code for block in reversed(found) if block.language in PYTHON), None)


def preamble(program: str) -> str:
    """Imports of the names that LiveCodeBench gives a program beforehand, so far as it mentions them."""
    known = _imports()
    mentioned = dict.fromkeys(_NAME.findall(program))
    return "\n".join(known[name] for name in mentioned if name in known)


@cache
def _imports() -> dict[str, str]:
    """How each name is imported: a module by its name, else from the last module that offers it."""
    found: dict[str, str] = {}
    for module in _MODULES:
        offered = importlib.import_module(module)
        names = getattr(offered, "__all__", None) or [name for name in vars(offered) if name[0] != "_"]
        found |= {name: f"from {module} import {name}" for name in names}
    for name in vars(builtins):
        found.pop(name, None)
    typing = importlib.import_module("typing")
    found |= {name: f"from typing import {name}" for name in typing.__all__}
    found |= {module: f"import {module}" for module in _MODULES}
    return found | {"exit": "from sys import exit", "quit": "from sys import exit as quit"}
