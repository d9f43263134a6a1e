"""Which program a completion gives, where a function is asked for. Pure."""

import re
from itertools import takewhile

from mentor_stream.answers.blocks import blocks
from mentor_stream.answers.thinking import after_thinking
from producers.rewards.code.program import MAX_CHARACTERS, PYTHON
from producers.rewards.script.reference import Script


def program_of(completion: str, script: Script) -> str | None:
    """The last block of code that defines what is asked for, else the last one, if there is any.

    Where neither does, and the last, or an answer without any, begins with an indented line, it goes on with
    the prompt, as models do that complete text.
    """
    answer = after_thinking(completion)
    answer = answer[-MAX_CHARACTERS:] if answer else ""
    found = [block.code for block in blocks(answer) if block.language in PYTHON]
    if whole := [code for code in found if defines(code, script.names[0])]:
        return whole[-1]
    last = found[-1] if found else answer
    if script.prompt and (body := _body(last)):
        return script.prompt.rstrip("\n") + "\n" + body
    return found[-1] if found else None


def known_program(solution: str | None, script: Script) -> str | None:
    """A dataset's own solution, where it is a program, in a block of code or bare."""
    if not solution:
        return None
    program = solution if defines(solution, script.names[0]) else program_of(solution, script)
    return program if program and defines(program, script.names[0]) else None


def defines(code: str, name: str) -> bool:
    """Whether code has a definition of the name that is not part of another."""
    return bool(re.search(rf"^(?:(?:async +)?def|class) +{name}\b|^{name}\s*=(?!=)", code, re.MULTILINE))


def _body(code: str) -> str:
    """The indented lines that code begins with."""
    lines = code.lstrip("\n").splitlines()
    return "\n".join(takewhile(lambda line: not line.strip() or line[0].isspace(), lines)).rstrip()
