"""The options of a multiple-choice question, as its text lists them."""

import re
from typing import NamedTuple

MAX_OPTIONS = 10
_MARK = re.compile(r"(?<![\w$\\])(?:\(([A-J])\)|([A-J])[.):])(?=[\s\\$~}])")
_TRIM = re.compile(r"^[\s}~]+|(?:[\s,;~]|\\(?:qquad|quad|textbf|text|mathrm|bf|\\|,)\s?\{?)+$")


class Option(NamedTuple):
    """One option of a question."""

    letter: str
    text: str


def options(question: str) -> list[Option]:
    """The options that a question offers, A, B and so on, in order; none if there is no such list."""
    found: list[re.Match[str]] = []
    for mark in _MARK.finditer(question):
        letter = mark[1] or mark[2]
        if letter == "A":
            found = [mark]  # the last list counts
        elif found and letter == chr(ord("A") + len(found)):
            found.append(mark)
    if len(found) < (3 if found and found[0][0].endswith(".") else 2):  # two may be somebody's initials
        return []
    ends = [*(mark.start() for mark in found[1:]), len(question)]
    texts = [question[mark.end() : end].partition("\n\n")[0] for mark, end in zip(found, ends, strict=True)]
    return [Option(chr(ord("A") + at), _TRIM.sub("", text).strip()) for at, text in enumerate(texts)]
