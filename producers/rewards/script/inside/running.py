"""Code in a module of its own, the ends of the pipes, and errors in words."""

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

PROGRAM = "program.py"
"""What the program's file is called."""


def module(name: str) -> ModuleType:
    """A new one, that is found by its name, as dataclasses and pickles do."""
    sys.modules[name] = found = ModuleType(name)
    return found


def run(code: str, name: str, scope: ModuleType) -> None:
    """Run code in a module."""
    exec(compile(code, name, "exec", dont_inherit=True), vars(scope))  # noqa: S102  what all of this is for


def ends() -> tuple[Any, Callable[[str], None]]:
    """Lines that are heard, and how to say one; nobody else reads or prints anything from now on."""
    heard, channel, write = os.fdopen(os.dup(0), "rb"), os.dup(1), os.write
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)

    def say(text: str) -> None:
        left = (text.replace("\n", " ") + "\n").encode(errors="replace")
        while left:
            left = left[write(channel, left) :]

    return heard, say


def reason(error: BaseException) -> str:
    """Why a test is not met, without what it expects."""
    if isinstance(words := getattr(error, "of_program", None), str):
        return words
    if isinstance(error, AssertionError):
        return "it does something else than a test expects"
    return said(error) if line_of(error) else f"{type(error).__name__} in a test, of what it does"


def said(error: BaseException) -> str:
    """An error in one line, with the program's line that it came from."""
    try:
        words = " ".join(str(error).split())[:300]
    except BaseException:
        words = "?"
    line = line_of(error)
    return f"{type(error).__name__}: {words}" + (f" (line {line})" if line else "")


def line_of(error: BaseException) -> int | None:
    """The line of the program that raised an error."""
    line, frame = None, error.__traceback__
    if isinstance(error, SyntaxError) and error.filename == PROGRAM:
        line = error.lineno
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == PROGRAM:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
