"""Whether a hint is a program, or holds one: whoever is given one has nothing left to find. No I/O."""

import re

from consumers.leak.tokens import KEYWORDS, Tokens, statements, tokens
from mentor_stream.answers.blocks import fenced, unfenced

BLOCK = 3
"""Statements that make a block of code a program."""
TEXT = 4
"""Lines of code that make a text without blocks one: in prose a line looks like code more easily."""

_CONTROL = frozenset("for while if elif else return def function fn switch case try print".split())  # noqa: SIM905
_ASSIGNS = frozenset("= += -= *= /= %= //= ++ -- << >>".split())  # noqa: SIM905
_PROSE = re.compile(r"(?:[^\W\d_]{2,}[ ,]+){3}")


def program(hint: str) -> str | None:
    """What makes a hint a program, or None. Declarations, data and a line or two are none."""
    for block in fenced(hint):
        count = sum(map(_does_something, statements(block)))
        if count >= BLOCK:
            return f"a program of {count} statements"
    lines = [line for line in unfenced(hint).splitlines() if _is_code(line)]
    return f"a program of {len(lines)} lines" if len(lines) >= TEXT else None


def _does_something(statement: Tokens) -> bool:
    """Whether a statement computes or decides, rather than give a name to a constant."""
    if statement[0] in _CONTROL:
        return len(statement) > 1
    calls = any(two == "(" for two in statement[1:])
    assigns = any(token in _ASSIGNS for token in statement)
    return calls or (assigns and any(token.isidentifier() for token in statement[1:]))


def _is_code(line: str) -> bool:
    """Whether a line of a text is a statement: signs of code, and no three words of prose in a row."""
    found = tokens(line)
    words = [word for word in re.findall(r"[^\W\d_]+", line) if word not in KEYWORDS]
    signs = {"(", "[", "="} & set(found) or _ASSIGNS & set(found)
    prose = _PROSE.search(" ".join(words) + " ") if not signs else _PROSE.search(line)
    return bool(found and signs and not prose and _does_something(found))
