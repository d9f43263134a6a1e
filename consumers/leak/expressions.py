"""The formulas of a text that are more than a number: sides of equations, tuples, intervals."""

import re
from collections.abc import Iterator

MAX_CHARACTERS = 300

_DELIMITED = re.compile(r"\$\$?([^$]{1,600})\$\$?|\\\(([^$]{1,600}?)\\\)|\\\[([^$]{1,600}?)\\\]")
_ATOM = (
    r"(?:\\[a-z]{1,20}|\d+(?:[.,]\d+)*|\.\d+|(?:sqrt|pi|sin|cos|tan|log|ln|exp|binom)(?![a-z])"
    r"|(?<![a-z])[a-z](?![a-z])|[-+*/^(){}\[\]!_|√π∞°%,])"
)
_RUN = re.compile(rf"{_ATOM}(?:\ ?{_ATOM})+")
_SIDES = re.compile(
    r"=|≈|≤|≥|<|>|;|:|\\(?:approx|leq?|geq?|neq?|implies|to|rightarrow|iff|qquad|quad)(?![a-z])|\\\\|&"
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s?\{")
_MEANS_SOMETHING = re.compile(
    r"\d.*[-+*/^!,√π°%(]|[-(\[{√|].*\d|\\[a-z]|[a-z].*[-+*/^=(]|[-+*/^].*[a-z]|^[a-zπ∞]$|sqrt|pi|∞"
)


def expressions(text: str) -> list[str]:
    """The formulas of a text that spelling.plain has been over, each once, in order."""
    found = dict.fromkeys(side for formula in _formulas(text) for side in _sides(formula))
    return [e for e in found if len(e) <= MAX_CHARACTERS and _MEANS_SOMETHING.search(e)]


def _formulas(text: str) -> Iterator[str]:
    for match in _DELIMITED.finditer(text):
        yield next(filter(None, match.groups()))
    for match in _BOX.finditer(text):
        yield _inside(text, match.end())
    for match in _RUN.finditer(text):
        yield match[0]


def _sides(formula: str) -> Iterator[str]:
    for side in _SIDES.split(formula):
        trimmed = _balanced(side.strip(" ,.$"))
        if trimmed:
            yield trimmed


def _inside(text: str, start: int) -> str:
    """The text from `start` to the brace that closes what was opened before it."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def _balanced(text: str) -> str:
    """Without a closing bracket too many at the end or an opening one too many at the start."""
    for opening, closing in ("()", "[]", "{}"):
        while text.endswith(closing) and text.count(closing) > text.count(opening) and "[" not in text:
            text = text[:-1].strip()
        while text.startswith(opening) and text.count(opening) > text.count(closing) and "]" not in text:
            text = text[1:].strip()
    return text
