"""Whether an expression states a reference's value."""

import re
from functools import lru_cache
from itertools import product

from mentor_stream.answers.assignments import ordered
from mentor_stream.answers.final import MAX_CHARACTERS, last_box
from mentor_stream.answers.formulas import expressions, number, same
from mentor_stream.answers.inequalities import aligned
from mentor_stream.answers.misreadings import chosen, denies, other_base, other_brackets, residues
from mentor_stream.answers.notation import to_latex
from mentor_stream.answers.prose import WORDS, is_prose, unmarked
from mentor_stream.answers.units import other_unit

_INTEGER = re.compile(r"-?(?:\d{1,300}|\d{1,3}(?:,\d{3}){1,99})")
_VARIABLE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]")


class Unreadable(ValueError):
    """The reference is no answer that can be compared with."""


def equivalent(reference: str, expression: str) -> bool:
    """Whether an expression states the reference's value. Raises Unreadable, for the reference only.

    Words, and whatever else is no mathematics, are compared as text without regard to case.
    """
    gold = reference_as_latex(reference)
    if len(expression) > MAX_CHARACTERS:
        return False
    answer = to_latex(expression)
    if _as_text(gold) in (_as_text(answer), _as_text(chosen(unmarked(answer)))):
        return True
    one, other = _integer(gold), _integer(answer)
    if one is not None and other is not None:  # most answers are: they need no sympy
        return one == other
    if is_prose(answer) and denies(answer):
        return False
    pair = residues(*ordered(*aligned(gold, answer)))
    if pair is None or _differs(*pair) or _contradicts_itself(pair[1]):
        return False
    gold, answer = pair
    return any(same(one, other) for one in expressions(gold) for other in expressions(answer))


def _differs(gold: str, answer: str) -> bool:
    """Whether they are of two kinds, whatever their numbers."""
    return other_brackets(gold, answer) or other_unit(gold, answer) or other_base(gold, answer)


def readable(reference: str) -> bool:
    """Whether the reference can be compared with: it reads as mathematics, or it is plain words."""
    try:
        reference_as_latex(reference)
    except Unreadable:
        return False
    return True


@lru_cache(maxsize=256)
def reference_as_latex(text: str) -> str:
    """The reference in LaTeX: what is behind "####" or in the last box, where a dataset has such a thing."""
    stated = text.rpartition("####")[2] if "####" in text else last_box(text) or text
    gold = to_latex(stated[: MAX_CHARACTERS + 1])
    if not gold or len(gold) > MAX_CHARACTERS:
        raise Unreadable(f"reference {text[:80]!r} is {'too long for an answer' if gold else 'empty'}")
    if not WORDS.fullmatch(gold) and _integer(gold) is None and not expressions(gold):
        raise Unreadable(f"reference {text[:80]!r} does not read as mathematics")
    return gold


def _contradicts_itself(answer: str) -> bool:
    """Whether an answer equates numbers that differ by more than rounding: of 1=12 the last would be read."""
    *sides, last = answer.split("=")
    return any(_apart(side, last) for side in sides[-8:])


def _apart(side: str, other: str) -> bool:
    """Whether both sides are numbers, and far from each other however one reads them."""
    if _VARIABLE.search(side + other):
        return False
    pairs = list(product(expressions(side.strip()), expressions(other.strip())))
    values = [(number(one), number(two)) for one, two in pairs]
    if not values or any(one is None or two is None for one, two in values):
        return False
    return all(
        abs(one - two) > 0.01 * max(abs(one), abs(two))
        for one, two in values
        if one is not None and two is not None
    ) and not any(same(*pair) for pair in pairs)


def _integer(latex: str) -> int | None:
    return int(latex.replace(",", "")) if _INTEGER.fullmatch(latex) else None


def _as_text(latex: str) -> str:
    bare = re.sub(r"\s+", " ", unmarked(latex)).strip().casefold()
    return bare[1:-1] if re.fullmatch(r"\([a-z]\)", bare) else bare
