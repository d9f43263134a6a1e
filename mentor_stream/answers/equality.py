"""Whether two mathematical answers are the same one, on math-verify; and where an answer stands in a text.

Sympy can be made to run for ever or to fill memory, so all of this belongs in a worker process
(workers.py), whose limits are the only ones: math-verify's own alarm clocks are off, since on a slow
machine they would turn lost time into a wrong answer.
"""

import logging
import math
import re
from functools import lru_cache
from typing import Any

from mentor_stream.misreadings import chosen, denies, other_brackets, other_unit
from mentor_stream.notation import plain_characters, to_latex

MAX_CHARACTERS = 2000
"""No answer is longer: a longer expression is not read."""


class Unreadable(ValueError):
    """The reference is no answer that can be compared with."""


def equivalent(reference: str, expression: str) -> bool:
    """Whether an expression states the reference's value. Raises Unreadable, for the reference only.

    Words, and whatever else is no mathematics, are compared as text without regard to case.
    """
    gold = _reference(reference)
    if len(expression) > MAX_CHARACTERS:
        return False
    answer = to_latex(expression)
    if _as_text(gold) in (_as_text(answer), _as_text(chosen(_TEXT.sub(r"\1", answer)))):
        return True
    if other_brackets(gold, answer) or other_unit(gold, answer) or _contradicts_itself(answer):
        return False
    if _is_prose(answer) and denies(answer):
        return False
    return any(_same(one, other) for one in _expressions(gold) for other in _expressions(answer))


def readable(reference: str) -> bool:
    """Whether the reference can be compared with: it reads as mathematics, or it is plain words."""
    try:
        _reference(reference)
    except Unreadable:
        return False
    return True


def final_answer(completion: str) -> str | None:
    """The answer that a completion settles on, as it is written there.

    Thinking (up to `</think>`) does not count. The last box wins; then what follows the last "answer is",
    "answer:" or "####"; then the whole text if it is one bare expression; then the last formula or number.
    """
    text = completion.rpartition("</think>")[2]
    if "<think>" in text:
        return None
    text = plain_characters(text[-10 * MAX_CHARACTERS :])
    tail = text[-MAX_CHARACTERS:]
    found = _last_box(text) or _stated(tail) or _bare(text) or _last_value(tail)
    return found if found and len(found) <= MAX_CHARACTERS else None


@lru_cache(maxsize=256)
def _reference(text: str) -> str:
    """The reference in LaTeX: what is behind "####" or in the last box, where a dataset has such a thing."""
    stated = text.rpartition("####")[2] if "####" in text else _last_box(text) or text
    gold = to_latex(stated[: MAX_CHARACTERS + 1])
    if not gold or len(gold) > MAX_CHARACTERS:
        raise Unreadable(f"reference {text[:80]!r} is {'too long for an answer' if gold else 'empty'}")
    if not _WORDS.fullmatch(gold) and not _expressions(gold):
        raise Unreadable(f"reference {text[:80]!r} does not read as mathematics")
    return gold


_WORDS = re.compile(r"\(?[A-Za-z]\)?|[A-Za-z]{3,}(?:[ '-][A-Za-z]+)*")
_PROSE = re.compile(r"(?<![\\A-Za-z])(?!sin|cos|tan|cot|sec|csc|log|exp|sqrt|max|min|gcd|lcm)[A-Za-z]{3,}")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")


@lru_cache(maxsize=256)
def _expressions(latex: str) -> tuple[Any, ...]:
    """What a formula reads as, in sympy's objects; nothing for words. Around prose the numbers are read."""
    if _WORDS.fullmatch(latex) or not _nests(latex):
        return ()
    sources = [latex] if _is_prose(latex) else []
    return next(filter(None, map(_parse, [*sources, f"${latex}$"])), ())


_VARIABLE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]")


def _contradicts_itself(answer: str) -> bool:
    """Whether an answer equates numbers that differ by more than rounding: of 1=12 the last would be read."""
    *sides, last = answer.split("=")
    return any(_apart(side, last) for side in sides[-8:])


def _apart(side: str, other: str) -> bool:
    if _VARIABLE.search(side + other):
        return False
    pairs = [(one, two) for one in _expressions(side.strip()) for two in _expressions(other.strip())]
    values = [(_number(one), _number(two)) for one, two in pairs]
    if not values or any(one is None or two is None for one, two in values):
        return False
    return all(
        abs(one - two) > 0.01 * max(abs(one), abs(two))
        for one, two in values
        if one is not None and two is not None
    ) and not any(_same(*pair) for pair in pairs)


def _parse(source: str) -> tuple[Any, ...]:
    from math_verify import parse

    logging.getLogger("math_verify.parser").setLevel(logging.ERROR)  # warns that its clocks are off
    try:
        found = parse(source, parsing_timeout=0, raise_on_error=True)
    except MemoryError:
        raise
    except Exception:
        return ()  # it raises anything at all for text that is no formula
    return tuple(e for e in found if not isinstance(e, str))


def _same(gold: Any, answer: Any) -> bool:
    from math_verify import verify

    logging.getLogger("math_verify.grader").setLevel(logging.ERROR)
    try:
        same = verify(gold, answer, timeout_seconds=None, raise_on_error=True)
    except MemoryError:
        raise
    except Exception:
        return False  # not comparable, such as a set with a matrix
    return same and not _far_apart(gold, answer)


def _far_apart(gold: Any, answer: Any) -> bool:
    """Whether two small numbers agree only because math-verify rounds to six decimals."""
    one, other = _number(gold), _number(answer)
    if one is None or other is None or not 0 < max(abs(one), abs(other)) < 1e-3:
        return False
    return abs(one - other) > 1e-3 * max(abs(one), abs(other))


def _number(value: Any) -> complex | None:
    if not getattr(value, "is_number", False):
        return None
    try:
        return complex(value)
    except (OverflowError, TypeError, ValueError):
        return complex(math.inf)


def _as_text(latex: str) -> str:
    bare = re.sub(r"\s+", " ", _TEXT.sub(r"\1", latex)).strip().casefold()
    return bare[1:-1] if re.fullmatch(r"\([a-z]\)", bare) else bare


def _nests(latex: str) -> bool:
    """Whether brackets close, no deeper than people write: the parser takes seconds to refuse the others."""
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", latex):
        depth += 1 if bracket in "([{" else -1
        if not 0 <= depth <= 20:
            return False
    return depth == 0


def _is_prose(text: str) -> bool:
    return bool(_PROSE.search(_TEXT.sub(" ", text)))


_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")
_STATEMENT = re.compile(r"(?:####|\banswer(?: is|\s?[:=]))[ *:=]*(?=[^\n])", re.IGNORECASE)
_OPINION = re.compile(
    r"\W*(?:indeed |also |therefore )?(?:correct|right|reasonable|consistent|verified|valid)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\*\*")
_FORMULA = re.compile(r"\$\$?[^$\n]+\$\$?|\\\([^\n]+?\\\)|\\\[.+?\\\]", re.DOTALL)
_NUMBER = re.compile(r"(?:(?<![\w)}])-)?(?:\d+(?:[,.]\d+)*|\.\d+)(?:/\d+)?(?:[eE][+-]?\d+)?(?:\s?%)?")


def _last_box(text: str) -> str | None:
    """What the last closed \\boxed{...} holds, nested braces and boxes counted."""
    opened: list[tuple[bool, int]] = []
    found = None
    for brace in _BRACES.finditer(text):
        if brace[0] == "}" and opened:
            is_box, start = opened.pop()
            found = text[start : brace.start()] if is_box else found
        elif brace[0] == "{" or len(brace[0]) > 2:
            opened.append((len(brace[0]) > 2, brace.end()))
    return (_last_box(found) or found) if found else None


def _stated(text: str) -> str | None:
    """What the last "answer is" says, unless it only says that the answer before it is right."""
    ends = [match.end() for match in _STATEMENT.finditer(text)]
    statements = [text[end:].partition("\n")[0] for end in ends]
    settled = [said for said in statements if not _OPINION.match(said)] or statements
    if not settled:
        return None
    sentence = _SENTENCE_END.split(settled[-1])[0].strip()
    formula = _FORMULA.search(sentence)
    return formula[0] if formula else sentence or None


def _bare(text: str) -> str | None:
    """The text itself when it is one short line without prose, or nothing but words."""
    line = text.strip()
    if len(line) > 200 or "\n" in line:
        return None
    return line if not _is_prose(line) or _WORDS.fullmatch(line.rstrip(".")) else None


def _last_value(text: str) -> str | None:
    found = [(m.end(), m[0]) for pattern in (_FORMULA, _NUMBER) for m in pattern.finditer(text)]
    return max(found)[1] if found else None
