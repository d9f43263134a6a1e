"""Roman and Chinese numerals as digits, where they are meant as numbers."""

# ruff: noqa: RUF001 - Chinese punctuation

import re

_ROMAN = re.compile(
    r"((?i:\b(?:answer|result|value|solution)\b[^.\n]{0,30}?(?:\bis|\bequals|=|:)|\\(?:boxed|fbox)\s?\{)[\s$*_(]*)"
    r"(?=[IVXLCDM]{2})(M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?![\w'])"
)
_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_HAN = {mark: value for value, mark in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_CHINESE = re.compile(r"[〇零一二两三四五六七八九]?[十百千][〇零一二两三四五六七八九十百千]{0,6}")
_CALLED = re.compile(
    r"(答案[是为:：]?\s*|等于\s*)([〇零一二两三四五六七八九])(?![〇零一二两三四五六七八九十百千万])"
)


def to_digits(text: str) -> str:
    """Roman numerals that are called the answer, and Chinese ones of several characters, or called it."""
    text = _ROMAN.sub(lambda match: f"{match[1]}{_roman(match[2])}", text)
    text = _CALLED.sub(lambda match: f"{match[1]}{_HAN[match[2]]}", text)
    return _CHINESE.sub(lambda match: f" {_chinese(match[0])} ", text)


def _roman(numeral: str) -> int:
    values = [_LETTERS[letter] for letter in numeral]
    return sum(
        -value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def _chinese(numeral: str) -> int:
    total, digit = 0, 0
    for mark in numeral:
        if mark in _POWERS:
            total, digit = total + (digit or 1) * _POWERS[mark], 0
        else:
            digit = _HAN[mark]
    return total + digit
