"""What tests consist of, numbers and words in a row, however they are set: `[1, 2]` is `1 2`. No I/O."""

import re
from collections.abc import Sequence
from itertools import pairwise

from consumers.leak.characters import plain_characters
from consumers.leak.spelling import plain

_ITEM = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)|\w+|->|=>|→|=|(?<=\w)\((?=[\d\"'\[-])")
_GROUPED = re.compile(r"(?<=\d)[,_' ](?=\d{3}(?!\d))")


def items(text: str) -> tuple[str, ...]:
    """The values in a text, without case and punctuation; f(4) is f = 4."""
    return tuple("=" if value == "(" else value for value in _ITEM.findall(text.casefold()))


def row(values: Sequence[str]) -> str:
    """Values as one text in which runs of values can be searched for."""
    return f" {' '.join(values)} "


def readings(text: str) -> str:
    """A text's values in a row: as it is written, with its numbers ungrouped, with numbers for words."""
    written = plain_characters(text).replace("\\", "")
    ways = (written, _GROUPED.sub("", written), plain(text))
    return " | ".join(dict.fromkeys(row(items(way)) for way in ways))


_LIMITS = {"998244353", "2147483647", "2147483648", "9223372036854775807", "4294967296"}
_ROUND = re.compile(r"10*|10*[1379]|9+")
_EVERYDAY = {
    "answer", "balanced", "correct", "element", "elements", "example", "hidden", "impossible", "length",
    "letter", "letters", "longest", "number", "numbers", "output", "palindrome", "possible", "program",
    "second", "shortest", "string", "strings", "winner",
}  # fmt: skip


def is_telling(values: Sequence[str]) -> bool:
    """Whether values are so many or so large that nobody hits upon them by chance."""
    if len(values) == 1:
        return _is_rare(values[0])
    if len(values) < 3 or _is_counting(values):
        return False
    return len(values) > 3 or sum(map(len, values)) > 6


def _is_rare(value: str) -> bool:
    digits = value.lstrip("-").replace(".", "")
    if digits.isdecimal():
        return len(digits) > 4 and digits not in _LIMITS and not _ROUND.fullmatch(digits)
    return len(value) > 5 and value not in _EVERYDAY


def _is_counting(values: Sequence[str]) -> bool:
    """Whether values count up or down or stay the same: 1 2 3 4, 5 4 3, 0 0 0."""
    if not all(value.lstrip("-").isdecimal() for value in values):
        return len(set(values)) == 1
    numbers = [int(value) for value in values[:1000]]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(steps) == 1 and steps <= {-1, 0, 1}
