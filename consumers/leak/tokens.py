"""Code of any language as tokens that do not depend on layout, and its statements.

`if (a && b[0]) {` and `if a and b[0]:` are the same here. Quotes, braces, semicolons and brackets that only
group are dropped, declared types too: what is compared are names, numbers and operators in their order.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from consumers.leak.characters import plain_characters

Tokens = tuple[str, ...]

_TOKEN = re.compile(
    r"[^\W\d]\w*|\d+(?:\.\d+)?"
    r"|<<=|>>=|\*\*=|//=|===|!==|==|!=|<=|>=|\+=|-=|\*=|/=|%=|\|=|&=|&&|\|\||<<|>>|\*\*|//|->|=>|\+\+|--|::|\S"
)
_ESCAPE = re.compile(r"\\(?=[_*\[\](){}<>#+.!|&`-])")
_SAME = {"&&": "and", "||": "or", "!": "not", "===": "==", "!==": "!=", "True": "true", "False": "false"}
_DROPPED = frozenset("'\"`;{}\\")
_QUOTED = re.compile(r"(['\"])([()\[\]{}:;]{1,4})\1")
_APART = {ord(mark): chr(0xE000 + at) for at, mark in enumerate("()[]{}:;")}
"""Brackets that are data keep nothing open, and are told from those of the code."""


def _set(*words: str) -> frozenset[str]:
    return frozenset(word for line in words for word in line.split())


_TYPES = _set(
    "let const var val auto final static int long short unsigned double float bool boolean char String string"
)
KEYWORDS = _set(
    "if elif else for while do switch case return break continue in not and or is lambda def class import",
    "from as with try except finally catch yield new function fn func pass of",
    "true false None null stdin cin cout",
)
"""Words that mean the same in whatever program they stand."""
BUILTINS = _set(
    "max min sum len abs sorted reversed range enumerate zip map filter list dict set tuple int str float",
    "bool pow divmod round any all chr ord bin input print sort reverse Counter deque heappush heappop",
)
"""Names of functions that a program does not choose, where it calls them."""


def tokens(text: str) -> Tokens:
    """The tokens of code, or of a text with code in it."""
    plain = _ESCAPE.sub("", plain_characters(text))
    plain = _QUOTED.sub(lambda quoted: quoted[2].translate(_APART), plain)
    found: list[str] = [word for word in _TOKEN.findall(plain) if word not in _DROPPED]
    return tuple(_without_types(_without_grouping(_SAME.get(word, word) for word in found)))


def shape(code: Sequence[str]) -> Iterator[str]:
    """The tokens with v for every name that the author chose."""
    for word, after in zip_longest(code, code[1:], fillvalue=""):
        fixed = word in KEYWORDS or (word in BUILTINS and after == "(")
        yield "v" if word.isidentifier() and not fixed else word


def _without_grouping(found: Iterable[str]) -> list[str]:
    """Without the brackets that call nothing."""
    calls: list[bool] = []
    kept: list[str] = []
    for mark in found:
        if mark == "(":
            calls.append(bool(kept) and _is_callable(kept[-1]))
        if mark not in ("(", ")") or (calls and calls[-1]):
            kept.append(mark)
        if mark == ")" and calls:
            calls.pop()
    return kept


def _is_callable(word: str) -> bool:
    return word in (")", "]") or (word.isidentifier() and word not in KEYWORDS)


def _without_types(found: Sequence[str]) -> Iterator[str]:
    for word, after in zip_longest(found, found[1:], fillvalue=""):
        if word not in _TYPES or not (after.isidentifier() or after == "["):
            yield word


_PIECE = r"""(?s:"(?:\\.|[^"\\\n]){0,500}"|'(?:\\.|[^'\\\n]){0,500}'|(?P<comment>#(?!include|define)[^\n]*"""
_PIECES = re.compile(rf"{_PIECE})|.)")
_PIECES_OF_C = re.compile(rf"{_PIECE}|//[^\n]*|/\*.*?\*/)|.)")
_C_LIKE = re.compile(r"[;{][ \t]*$|^[ \t]*(?://|#include)", re.MULTILINE)


def statements(code: str) -> Iterator[Tokens]:
    """The statements of code, as lines and semicolons part them; no comments, none empty."""
    for line in _lines(code):
        found = tokens(line)
        if found and found[-1] == ":":
            found = found[:-1]
        if found:
            yield found


def _lines(code: str) -> Iterator[str]:
    """Logical lines: a line goes on while a bracket is open."""
    pieces = _PIECES_OF_C if _C_LIKE.search(code) else _PIECES  # elsewhere // divides
    line, depth = list[str](), 0
    for piece in pieces.finditer(code):
        text = piece[0]
        if piece["comment"]:
            continue
        if text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            depth = max(0, depth - 1)
        if text in ("\n", ";") and not depth:
            yield "".join(line)
            line = []
        else:
            line.append(text)
    yield "".join(line)
