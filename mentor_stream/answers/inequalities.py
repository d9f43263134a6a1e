"""Inequalities in one variable as the intervals they describe: `0 \\le x < 1` is `[0,1)`.

On LaTeX, unparsed.
"""

import re

_RELATIONS = (
    (re.compile(r"\\(?:leqslant|leqq|leq|le)(?![A-Za-z])|<="), "≤"),
    (re.compile(r"\\(?:geqslant|geqq|geq|ge)(?![A-Za-z])|>="), "≥"),
    (re.compile(r"\\lt(?![A-Za-z])"), "<"),
    (re.compile(r"\\gt(?![A-Za-z])"), ">"),
    (re.compile(r"\\(?:neq|ne)(?![A-Za-z])"), "≠"),
)
_OR = re.compile(r"\\(?:text|mathrm)\{\s*or\s*\}|\bor\b|\\lor\b|\\vee\b|\\cup\b")
_BUILDER = re.compile(
    r"\\\{\s*[a-z]\s*(?:\\in\s*\\mathbb\{?R\}?\s*)?(?:\\mid|\\vert|:|\|)\s*(.*?)\s*\\\}", re.DOTALL
)
_SPACE = re.compile(r"\\[,;:! ]|\\q?quad|~|\s+")
_VARIABLE = re.compile(r"[a-zA-Z]|\\(?:theta|lambda|alpha|beta|mu)")
_INTERVAL = re.compile(r"\s*[(\[].*,.*[)\]]\s*|.*\\cup.*|\s*\\mathbb\{?R\}?.*", re.DOTALL)


def aligned(gold: str, answer: str) -> tuple[str, str]:
    """Both as intervals where one is an interval and the other an inequality; else as they are."""
    if _INTERVAL.fullmatch(gold) and (intervals := as_intervals(answer)):
        return gold, intervals
    if _INTERVAL.fullmatch(answer) and (intervals := as_intervals(gold)):
        return intervals, answer
    return gold, answer


def as_intervals(latex: str) -> str | None:
    """The union of intervals that inequalities joined by `or` describe; None for anything else."""
    builder = _BUILDER.fullmatch(latex.strip())
    text = builder[1] if builder else latex
    for pattern, sign in _RELATIONS:
        text = pattern.sub(sign, text)
    if not re.search("[<>≤≥≠]", text):
        return None
    parts = [_interval(_SPACE.sub(" ", part).strip()) for part in _OR.split(text)]
    return r" \cup ".join(filter(None, parts)) if all(parts) else None


def _interval(chain: str) -> str | None:
    """The interval of one chain, `a < x <= b` or `x > a` in either direction."""
    terms = [term.strip() for term in re.split("[<>≤≥≠]", chain)]
    signs = re.findall("[<>≤≥≠]", chain)
    if not all(terms):
        return None
    if signs and signs[0] in ">≥":
        terms, signs = terms[::-1], [{">": "<", "≥": "≤"}.get(sign, "") for sign in signs[::-1]]
    if not all(sign in ("<", "≤", "≠") for sign in signs):
        return None
    if len(terms) == 3 and "≠" not in signs and _VARIABLE.fullmatch(terms[1]):
        return f"{_OPENING[signs[0]]}{terms[0]}, {terms[2]}{_CLOSING[signs[1]]}"
    if len(terms) == 2 and _VARIABLE.fullmatch(terms[0]) and not _VARIABLE.fullmatch(terms[1]):
        if signs[0] == "≠":
            return rf"(-\infty, {terms[1]}) \cup ({terms[1]}, \infty)"
        return rf"(-\infty, {terms[1]}{_CLOSING[signs[0]]}"
    if len(terms) == 2 and _VARIABLE.fullmatch(terms[1]) and signs[0] != "≠":
        return rf"{_OPENING[signs[0]]}{terms[0]}, \infty)"
    return None


_OPENING = {"<": "(", "≤": "["}
_CLOSING = {"<": ")", "≤": "]"}
