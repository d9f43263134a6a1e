"""Numbers in words, `minus twenty-one`, `three quarters`, `two and a half`, `3 million`, in digits."""

import re
from fractions import Fraction

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
    "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_VALUES = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "twentieth": 20, "hundredth": 100,
    "thousandth": 1000,
}  # fmt: skip
_VOCABULARY = {*_VALUES, *_SCALES, *_PARTS, *(f"{part}s" for part in _PARTS), "hundred", "and", "a", "minus"}
_SCALED = re.compile(rf"(-?\d[\d,]*(?:\.\d+)?)\s*({'|'.join(_SCALES)})s?", re.IGNORECASE)
MAX_WORDS = 30


def in_digits(text: str) -> str | None:
    """The number that a text is, as an integer or `a/b`; None for any other text."""
    if scaled := _SCALED.fullmatch(text):
        return _written(Fraction(scaled[1].replace(",", "")) * _SCALES[scaled[2].lower()])
    words = text.lower().replace("-", " ").split()
    if not words or len(words) > MAX_WORDS or not all(word.isalpha() for word in words):
        return None
    sign = -1 if words[0] in ("minus", "negative") else 1
    value = _mixed(words[1:] if sign < 0 else words)
    return None if value is None else _written(sign * value)


def counted_in_digits(text: str) -> str | None:
    """`three apples` with its number in digits; None for anything else."""
    number, _, thing = text.rpartition(" ")
    if not thing.isalpha() or thing.lower() in _VOCABULARY:
        return None
    digits = in_digits(number)
    return f"{digits} {thing}" if digits else None


def _written(value: Fraction) -> str:
    return str(value)


def _mixed(words: list[str]) -> Fraction | None:
    """`two and a half`, a fraction alone, or a whole number."""
    if (whole := _whole(words)) is not None:
        return Fraction(whole)
    if (part := _part(words)) is not None:
        return part
    if "and" in words:
        place = len(words) - 1 - words[::-1].index("and")
        whole, part = _whole(words[:place]), _part(words[place + 1 :])
        return None if whole is None or part is None or part >= 1 else whole + part
    return None


def _part(words: list[str]) -> Fraction | None:
    """`one half`, `a third`, `three quarters`."""
    if len(words) < 2:
        return None
    *over, under = words
    count = 1 if over == ["a"] else _whole(over)
    parts = _PARTS.get(under) or _PARTS.get(under.removesuffix("s"))
    return None if count is None or parts is None else Fraction(count, parts)


def _whole(words: list[str]) -> int | None:
    """`two thousand three hundred and five`: groups below a thousand, each larger than what follows."""
    total, rest, smallest = 0, list(words), None
    while rest:
        scale_at = next((place for place, word in enumerate(rest) if word in _SCALES), None)
        group = _hundreds(rest if scale_at is None else rest[:scale_at])
        scale = 1 if scale_at is None else _SCALES[rest[scale_at]]
        if group is None or (smallest is not None and scale >= smallest):
            return None
        total, smallest = total + group * scale, scale
        rest = [] if scale_at is None else rest[scale_at + 1 :]
    return total if words else None


def _hundreds(words: list[str]) -> int | None:
    """A number up to `twelve hundred`: `three hundred and five`, `twenty one`, `a hundred`."""
    words = words[1:] if words[:1] == ["and"] else words
    if "hundred" in words:
        place = words.index("hundred")
        count = 1 if words[:place] == ["a"] else _tens(words[:place])
        rest = [word for word in words[place + 1 :] if word != "and"]
        below = _tens(rest) if rest else 0
        return None if not count or count % 10 == 0 or below is None else 100 * count + below
    return _tens(words)


def _tens(words: list[str]) -> int | None:
    """A number below a hundred."""
    values = [_VALUES.get(word) for word in words]
    if len(values) == 1:
        return values[0]
    if len(values) == 2 and values[0] and values[1] and values[0] >= 20 and values[1] < 10:
        return values[0] + values[1]
    return None
