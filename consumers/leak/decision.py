"""What a hint must not say: the reference or what equals it, unless the question says it too. No I/O.

Numbers are compared here, exactly. Other formulas are left to `find_equal`: a computer algebra system in a
process that can be killed (guard.py).
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from consumers.leak.claims import ANNOUNCEMENT, CONFIRMATION, spelled
from consumers.leak.expressions import expressions
from consumers.leak.labels import labels, unlabelled
from consumers.leak.numerals import Key, Numeral, informal, numerals
from consumers.leak.spelling import plain

FindEqual = Callable[[str, Sequence[str]], Awaitable[str | None]]
"""The first of the expressions that has the reference's value, or None."""

MAX_CHARACTERS = 4000
MAX_EXPRESSIONS = 64
MAX_REFERENCE = 120
"""A longer reference is no list of numbers: it is looked for as it is written, and compared as a formula."""


@dataclass(frozen=True)
class Reference:
    """A reference as the guard compares with it."""

    text: str
    """In plain spelling."""
    parts: tuple[frozenset[Fraction], ...]
    """The values of each number when the reference is nothing but numbers, with their names or units."""


async def find_leak(hint: str, question: str, reference: str, find_equal: FindEqual) -> str | None:
    """What in the hint gives the reference away in any equivalent spelling, or None.

    A number or formula that the question states is no leak, unless the hint calls it the answer. A hint too
    long or too intricate to be searched counts as one.
    """
    if len(hint) > MAX_CHARACTERS:
        return f"a hint of {len(hint)} characters cannot be searched for the answer"
    said, (asked, given, squeezed), wanted = plain(hint), _read_question(question), read(reference)
    suspects = _suspects(said, given)
    if stated := _stated(wanted, suspects, given):
        return _leaks(stated)
    if not wanted.parts and spelled(wanted.text, said, asked):
        return _leaks(wanted.text)
    formulas = [e for e in expressions(unlabelled(said)) if _squeezed(e) not in squeezed]
    if not wanted.parts:
        formulas += [numeral.text for numeral in suspects]
    formulas = [e for e in dict.fromkeys(formulas) if _comparable(e, wanted)]
    if len(formulas) > MAX_EXPRESSIONS:
        return f"a hint with {len(formulas)} formulas cannot be searched for the answer"
    found = await find_equal(reference, formulas) if formulas else None
    return _leaks(found) if found else None


def prepare(question: str, reference: str) -> None:
    """What takes long where they are long, for a thread: the searches that follow find it done."""
    _read_question(question)
    read(reference)


@lru_cache(maxsize=32)
def _read_question(question: str) -> tuple[str, AbstractSet[Key], str]:
    """In plain spelling, the numbers that it states, and without white space."""
    asked = plain(question)
    return asked, _given(asked), _squeezed(asked)


def find_text(hint: str, question: str, reference: str) -> str | None:
    """The reference as it is written, standing as a whole in the hint and not in the question."""
    wanted = read(reference).text
    return _leaks(wanted) if spelled(wanted, plain(hint), _read_question(question)[0]) else None


@lru_cache(maxsize=32)
def read(reference: str) -> Reference:
    """The reference in plain spelling: what is behind `####` or in a box where a dataset has such a thing."""
    text = reference.rpartition("####")[2]
    box = re.fullmatch(r"\s*\$*\\boxed\s?\{(.*)\}\$*\s*", text, re.DOTALL)
    text = re.sub(r",(?!\d{3}(?!\d))\s*", ", ", plain(box[1] if box else text))
    text = text.strip().strip("$").strip().rstrip(".").strip()
    return Reference(text, _parts(text))


_NOT_UNIT = r"(?!pi\b|sqrt|sin|cos|tan|log|ln|exp)"
_UNIT_WORD = rf"{_NOT_UNIT}[a-z]{{2,20}}"
_UNIT = rf"(?:\s*(?:\^\s*\{{?\s*\\circ\s*\}}?|°|[€£$]|{_UNIT_WORD}(?:\s{_UNIT_WORD}){{0,3}}|[mgslh]\b))?"
_NAME = r"(?:[a-z]\w?\s?=\s?)?"
_ONE = rf"[$€£]?\s?{_NAME}-?\s?[$€£]?#{_UNIT}"
_ONLY_NUMBERS = re.compile(
    rf"\\?[(\[{{]?\s?{_ONE}(?:(?:\s?[,;]\s?|\s)(?:(?:and|or)\s)?{_ONE}){{0,20}}\s?\\?[)\]}}]?"
)


def _parts(text: str) -> tuple[frozenset[Fraction], ...]:
    if len(text) > MAX_REFERENCE:
        return ()
    first: dict[int, Numeral] = {}
    for numeral in numerals(text):
        first.setdefault(numeral.start, numeral)
    shape = text
    for start in sorted(first, reverse=True):
        shape = shape[:start] + "#" + shape[start + len(first[start].text) :]
    return tuple(n.values for n in first.values()) if _ONLY_NUMBERS.fullmatch(shape) else ()


def _suspects(said: str, given: AbstractSet[Key]) -> list[Numeral]:
    """The numbers of a hint that its question does not state, and those that the hint calls the answer."""
    marks = labels(said)
    announced = {match.end() for match in ANNOUNCEMENT.finditer(said)}

    def called(numeral: Numeral) -> bool:
        end = numeral.start + len(numeral.text)
        return numeral.start in announced or bool(CONFIRMATION.match(said, end))

    found = numerals(said) + informal(said)
    return [n for n in found if (n.key not in given and n.start not in marks) or called(n)]


def _given(asked: str) -> set[Key]:
    """Every number that stands in the question, whatever its sign, those in names and fractions too."""
    keys: set[Key] = set()
    for numeral in numerals(asked) + informal(asked):
        kind, amounts = numeral.key
        keys |= {numeral.key, (kind, (-amounts[0], *amounts[1:]))}
        keys |= {("number", (sign * amount,)) for amount in amounts for sign in (1, -1) if kind != "mixed"}
    runs = re.findall(r"(?<![\d.,])\d{1,40}(?![\d.,]\d|\d)", asked)
    return keys | {("number", (Fraction(run),)) for run in runs}


def _stated(wanted: Reference, suspects: Iterable[Numeral], given: AbstractSet[Key]) -> str | None:
    """The first number that completes the reference: of several parts each must be said, or asked."""
    hits = [next((n for n in suspects if _same(n, part)), None) for part in wanted.parts]
    known = [any(("number", (value,)) in given for value in part) for part in wanted.parts]
    if not any(hits) or not all(hit or old for hit, old in zip(hits, known, strict=True)):
        return None
    return next(hit.text for hit in hits if hit)


def _same(numeral: Numeral, values: frozenset[Fraction]) -> bool:
    """Whether a number equals one of the values, or is one of them rounded to its two or more decimals."""
    if numeral.values & values:
        return True
    if numeral.places < 2:
        return False
    error = Fraction(1, 2 * 10**numeral.places)
    return any(abs(one - other) <= error for one in numeral.values for other in values)


_WORDS = re.compile(r"\\(?:frac|sqrt|pi|cdot|times|circ|infty|binom)(?![a-z])|sqrt|pi|sin|cos|tan|log|ln|exp")
_VARIABLE = re.compile(r"[a-z]")


def _comparable(expression: str, wanted: Reference) -> bool:
    """Whether an expression can have the reference's value at all: with a variable in it, it is no number."""
    return not wanted.parts or not _VARIABLE.search(_WORDS.sub(" ", expression))


def _squeezed(text: str) -> str:
    return re.sub(r"\^\{(\w+)\}", r"^\1", re.sub(r"\s", "", text))


def _leaks(what: str) -> str:
    return f"the hint gives the answer away: {what.strip()}"
