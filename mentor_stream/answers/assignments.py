"""Values of several variables: `x = 3, y = -1` and `(x, y) = (3, -1)` are the tuple (3, -1).

On LaTeX, unparsed.
"""

import re

_TUPLE = re.compile(r"\(([^=]*)\)")
_NAMED = re.compile(r"\(([^=()]*)\)\s*=\s*\(([^=]*)\)")
_VARIABLE = re.compile(r"[A-Za-z](?:_\{?\w\}?)?|\\[a-z]{2,7}")


def ordered(gold: str, answer: str) -> tuple[str, str]:
    """Both as tuples where both are some variables' values, named or in order; else as they are."""
    one, other = _values(gold), _values(answer)
    if one is None or other is None or len(one) != len(other):
        return gold, answer
    names = [name for name, _ in one]
    if all(name is not None for name, _ in other) and None not in names:
        found = dict(other)
        if found.keys() != dict(one).keys():
            return gold, answer
        other = [(name, found[name]) for name in names]
    elif None in names and all(name is None for name, _ in other):
        return gold, answer
    return _tuple(one), _tuple(other)


def top_level(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    depth, start, parts = 0, 0, list[str]()
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def _tuple(values: list[tuple[str | None, str]]) -> str:
    return f"({', '.join(value for _, value in values)})"


def _values(text: str) -> list[tuple[str | None, str]] | None:
    """At least two values, each with its variable where it is named; None for anything else."""
    if named := _NAMED.fullmatch(text):
        names, values = top_level(named[1]), top_level(named[2])
    elif plain := _TUPLE.fullmatch(text):
        values = top_level(plain[1])
        return [(None, value) for value in values] if len(values) > 1 else None
    else:
        sides = [part.split("=") for part in top_level(text)]
        if not all(len(pair) == 2 for pair in sides):
            return None
        names, values = [pair[0].strip() for pair in sides], [pair[1].strip() for pair in sides]
    if len(names) != len(values) or len(set(names)) != len(names) or len(names) < 2:
        return None
    if not all(map(_VARIABLE.fullmatch, names)):
        return None
    return list(zip(names, values, strict=True))
