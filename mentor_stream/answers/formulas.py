"""Formulas as sympy's objects: read and compared by math-verify, which raises anything at all."""

import logging
import math
import re
from functools import lru_cache
from typing import Any, cast

from mentor_stream.answers.magnitude import too_large
from mentor_stream.answers.prose import WORDS, is_prose

_OPEN_END = re.compile(r"(?:\\(?:cdot|times|div|pm|mp)|[+\-*/=^_<])\s*$")
_CONSTANTS = ("e", "i")
"""Letters that are numbers."""


@lru_cache(maxsize=256)
def expressions(latex: str) -> tuple[Any, ...]:
    """What a formula reads as, in sympy's objects; nothing for words. Around prose the numbers are read."""
    if (WORDS.fullmatch(latex) and latex not in _CONSTANTS) or _OPEN_END.search(latex) or not _nests(latex):
        return ()
    sources = [latex] if is_prose(latex) else []
    return next((found for source in (*sources, f"${latex}$") if (found := _parse(source))), ())


def same(gold: Any, answer: Any) -> bool:
    """Whether two expressions have one value, to more digits than math-verify looks at.

    Formulas too large to compute are the same only if they are written alike.
    """
    if too_large(gold) or too_large(answer):
        return bool(gold == answer)
    if _verified(gold, answer):
        return not _far_apart(gold, answer)
    return (exact := (_exact(gold), _exact(answer))) != (gold, answer) and _verified(*exact)


def _verified(gold: Any, answer: Any) -> bool:
    """What math-verify says."""
    from math_verify import verify  # pyright: ignore[reportMissingTypeStubs]

    logging.getLogger("math_verify.grader").setLevel(logging.ERROR)
    try:
        return verify(gold, answer, timeout_seconds=None, raise_on_error=True, allow_set_relation_comp=True)
    except MemoryError:
        raise
    except Exception:
        return False  # not comparable, such as a set with a matrix


def _exact(value: Any) -> Any:
    """The same with fractions for decimals: a power of 0.5 is a root."""
    from sympy import Float, Rational  # pyright: ignore[reportMissingTypeStubs]

    decimals = value.atoms(Float) if hasattr(value, "atoms") else ()
    return value.xreplace({number: Rational(str(number)) for number in decimals}) if decimals else value


def number(value: Any) -> complex | None:
    """An expression's value, infinite where it is too large; None for one that is no number."""
    if not getattr(value, "is_number", False):
        return None
    try:
        return complex(math.inf) if too_large(value) else complex(value)
    except MemoryError:
        raise
    except Exception:
        return complex(math.inf)


def _parse(source: str) -> tuple[Any, ...]:
    from math_verify import parse  # pyright: ignore[reportMissingTypeStubs]

    logging.getLogger("math_verify.parser").setLevel(logging.ERROR)  # warns that its clocks are off
    try:
        found = cast("list[Any]", parse(source, parsing_timeout=0, raise_on_error=True))
        return tuple(_with_imaginary_unit(e) for e in found if not isinstance(e, str))
    except MemoryError:
        raise
    except Exception:
        return ()  # it raises anything at all for text that is no formula


def _with_imaginary_unit(value: Any) -> Any:
    """The same with the number for the symbol i, so that it is the root of -1."""
    from sympy import I  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    unit = next((symbol for symbol in getattr(value, "free_symbols", ()) if symbol.name == "i"), None)
    return value if unit is None else value.subs(unit, I)


def _nests(latex: str) -> bool:
    """Whether brackets close, no deeper than people write: the parser takes seconds to refuse the others."""
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", latex):
        depth += 1 if bracket in "([{" else -1
        if not 0 <= depth <= 20:
            return False
    return depth == 0


def _far_apart(gold: Any, answer: Any) -> bool:
    """Whether two small numbers agree only because math-verify rounds to six decimals."""
    one, other = number(gold), number(answer)
    if one is None or other is None or not 0 < max(abs(one), abs(other)) < 1e-3:
        return False
    return abs(one - other) > 1e-3 * max(abs(one), abs(other))
