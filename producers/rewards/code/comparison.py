"""Whether what a program printed or returned is what its test expects: LiveCodeBench's rules. Pure."""

import json
from decimal import Decimal


def same_output(printed: str, expected: str) -> bool:
    """Line by line without outer space; where two lines differ, as decimal numbers without rounding."""
    one, other = _lines(printed), _lines(expected)
    return len(one) == len(other) and all(map(_same_line, one, other))


def same_value(returned: object, expected: str) -> bool:
    """Whether a value that came as JSON is the expected one, also JSON. A tuple is a list by then.

    Nothing but plain data is compared, so no object of the program's can say that it is equal.
    """
    try:
        return bool(returned == json.loads(expected))
    except RecursionError:
        return False


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _same_line(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return [Decimal(word) for word in one.split()] == [Decimal(word) for word in other.split()]
    except ArithmeticError:
        return False
