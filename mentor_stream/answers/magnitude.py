"""Formulas that nobody can compute, such as towers of powers: told from their tree before sympy tries to."""

import math
from typing import Any

MAX_DIGITS = 100_000
"""Digits of a number that may still be computed."""
MAX_TERMS = 1_000_000
"""Terms of a sum or product that may still be added up."""
MAX_EXPANDED = 200
"""Exponent of a sum with variables, times its terms but one, that may still be multiplied out."""


class _TooLarge(Exception):
    pass


def too_large(value: Any) -> bool:
    """Whether computing or expanding a formula of sympy's would take more than the limits."""
    try:
        entries = value.flat() if hasattr(value, "flat") else [value]
        for entry in entries:
            _size(entry)
    except (_TooLarge, RecursionError):
        return True
    return False


def _size(value: Any) -> float:
    """About the absolute value; 1 for what has none, such as a variable. Raises _TooLarge."""
    name = type(value).__name__
    if getattr(value, "is_Number", False) or getattr(value, "is_NumberSymbol", False):
        return _absolute(value)
    if name in ("Sum", "Product"):
        return _series(value)
    sizes = [_size(part) for part in getattr(value, "args", ())]
    if name == "Pow":
        return _power(value, *sizes)
    if name == "exp":
        return _ten_to(sizes[0] * math.log10(math.e))
    if name in ("factorial", "factorial2", "subfactorial", "gamma"):
        return _ten_to(sizes[0] * math.log10(max(sizes[0], 2)))
    if name == "binomial":
        return _ten_to(min(sizes) * math.log10(max(*sizes, 2)))
    if name == "Mul":
        return math.prod(sizes)
    return sum(sizes) if name == "Add" else max(sizes, default=1.0)


def _absolute(number: Any) -> float:
    try:
        return abs(float(number))
    except (OverflowError, TypeError, ValueError):
        return math.inf


def _power(value: Any, base: float, exponent: float) -> float:
    terms = len(value.base.args) if value.base.is_Add else 1
    if value.base.free_symbols and exponent * (terms - 1) > MAX_EXPANDED:
        raise _TooLarge
    return _ten_to(exponent * abs(math.log10(base))) if base else 0.0


def _series(value: Any) -> float:
    """A finite sum or product; an endless one is sympy's to know."""
    for _, *bounds in value.limits:
        low, high = (_size(bound) if bound.is_number else 0.0 for bound in (bounds * 2)[:2])
        if MAX_TERMS < max(low, high) < math.inf:
            raise _TooLarge
    return _size(value.function)


def _ten_to(digits: float) -> float:
    if math.isnan(digits) or digits > MAX_DIGITS:
        raise _TooLarge
    return 10.0 ** min(digits, 300.0)
