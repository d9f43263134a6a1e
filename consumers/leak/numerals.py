"""The numbers written in a text, in digits, words, fractions, percent or LaTeX, with their exact values.

Works on text that spelling.plain has been over: plain characters, digits for words.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

Key = tuple[str, tuple[Fraction, ...]]
"""How a number is written, apart from spelling: 1/2 is not 0.5 here, but 0.50 is, and twelve is 12."""


class Numeral(NamedTuple):
    """One number in a text. A percentage has two values, 50 and 1/2."""

    start: int
    text: str
    key: Key
    values: frozenset[Fraction]
    places: int
    """Decimal places written."""


_DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,12}(?!\d)|\d{1,40})(?:\.\d{1,40})?|\.\d{1,40}"
_NUMBER = re.compile(
    rf"""
    (?<![A-Za-z_\d.]) (?<!_\{{)          # no part of a name, a subscript or a longer number
    (?:
        (?P<mixed>\d{{1,12}}\ \d{{1,12}}\ ?/\ ?\d{{1,12}})
      | (?P<ratio>(?:{_DIGITS})\ ?/\ ?(?:{_DIGITS}))
      | (?P<power>(?:{_DIGITS})(?:\ ?(?:\*|\\times|\\cdot)\ ?10\ ?\^\ ?\{{?|e)[-+]?\d{{1,3}}\}}?)
      | (?P<repeating>\d{{0,20}}\.\d{{0,20}}(?:\\(?:overline|bar|dot)\ ?\{{?\d{{1,20}}\}}?|\(\d{{1,20}}\)))
      | (?P<endless>\d{{0,20}}\.\d{{2,20}}\ ?(?:\.\.\.|\\[lc]?dots))
      | (?P<grouped>\d{{1,3}}(?:\ \d{{3}}){{1,5}}(?![\d/]))
      | (?P<comma>\d{{1,12}},\d{{1,2}}(?![\d,]))
      | (?P<plain>{_DIGITS})
    )
    (?![\d]|\.\d|(?:st|nd|rd|th)\b)
    (?P<percent>\ ?%)?
    """,
    re.VERBOSE,
)
_KINDS = ("mixed", "ratio", "power", "repeating", "endless", "grouped", "comma", "plain")
_POWER_OF_LETTER = re.compile(r"[A-Za-z]\s?\^\s?\{?\s?-?$")
_OPERAND = re.compile(r"(?:\d|[)\]}]|(?<![A-Za-z\\])[A-Za-z])\s*$")


def numerals(text: str) -> list[Numeral]:
    """All numbers of a text. One that can be read in two ways (3 -5, 1,5) is there in both."""
    return [numeral for match in _NUMBER.finditer(text) for numeral in _read(text, match)]


_RATIO = re.compile(r"(?<![\w.:])(\d{1,6}) ?: ?(\d{1,6})(?![\w:]|\.\d)")
_SHARE = re.compile(
    r"(?<![\w.])(\d{1,6}) (?:out of|in)(?: every| each| all)? (\d{1,6})(?![\w:]|\.\d)"
    r"|\bratio\b[^.\n]{0,40}?\b(\d{1,6}) to (\d{1,6})(?![\w:]|\.\d)"
)
_CLOCK = re.compile(r"[012]?\d:[0-5]\d")
_SPACED = re.compile(r"(?<![\w.,/^-])\d(?:(?: \d){2,20}|(?:-\d){2,20})(?![\w/-]|[.,]\d| \d)")
_LISTED = re.compile(
    r"\bdigits(?:,? in (?:this )?order)?,?(?: are| being|:) ?"
    r"(\d(?:(?:, ?(?:and )?| and | then )\d){1,20})(?!\w|[.,]\d)"
)
_THOUSANDS = re.compile(r"(?<![\w.])(\d{1,6}(?:\.\d{1,6})?)k\b(?! ?[-+*/^=$(])")


def informal(text: str) -> list[Numeral]:
    """Second readings: 3:4 and 3 out of 4 as fractions, 1 2 6, 1-2-6 and the digits 1, 2 and 6 as
    126, 1.2k as 1200.

    No reference is read so.
    """
    found: list[Numeral] = []
    for match in _RATIO.finditer(text):
        over, under = Fraction(match[1]), Fraction(match[2])
        if under and not _CLOCK.fullmatch(match[0]):
            found.append(_second(match, ("colon", (over, under)), over / under))
    for match in _SHARE.finditer(text):
        over, under = (Fraction(part) for part in match.groups() if part)
        if under:
            found.append(_second(match, ("colon", (over, under)), over / under))
    found += (
        _second(match, *_plain(_decimal(re.sub(r"[ -]", "", match[0])))) for match in _SPACED.finditer(text)
    )
    found += (
        _second(match, *_plain(_decimal(re.sub(r"\D", "", match[1])))) for match in _LISTED.finditer(text)
    )
    found += (_second(match, *_plain(1000 * _decimal(match[1]))) for match in _THOUSANDS.finditer(text))
    return found


def _second(match: re.Match[str], key: Key, value: Fraction) -> Numeral:
    return Numeral(match.start(), match[0], key, frozenset({value}), 0)


def _read(text: str, match: re.Match[str]) -> Iterator[Numeral]:
    before = text[max(0, match.start() - 12) : match.start()]
    if _POWER_OF_LETTER.search(before):
        return
    places = len((match["plain"] or "").partition(".")[2])
    for (kind, amounts), value in _readings(match):
        for sign in _signs(before):
            key = ("percent" if match["percent"] else kind, (sign * amounts[0], *amounts[1:]))
            values = {sign * value, sign * value / 100} if match["percent"] else {sign * value}
            yield Numeral(match.start(), match[0], key, frozenset(values), places)


def _signs(before: str) -> tuple[int, ...]:
    """How the minus sign before a number can be meant: a sign, a subtraction, or either."""
    if not before.endswith("-"):
        return (1,)
    return (1, -1) if _OPERAND.search(before[:-1]) else (-1,)


def _readings(match: re.Match[str]) -> Iterator[tuple[Key, Fraction]]:
    """The unsigned readings of a match, each as key and value."""
    kind = next(name for name in _KINDS if match[name])
    text = match[kind]
    if kind == "mixed":
        whole, over, under = (Fraction(part) for part in re.split(r"[ /]+", text))
        if under:
            yield ("mixed", (whole, over / under)), whole + over / under
    elif kind == "ratio":
        over, under = (_decimal(part) for part in text.split("/"))
        if under:
            yield ("ratio", (over, under)), over / under
    elif kind == "comma":
        yield _plain(_decimal(text.replace(",", ".")))
        for part in text.split(","):
            yield _plain(_decimal(part))
    elif kind == "grouped":
        yield _plain(_decimal(text.replace(" ", "")))
        for part in text.split(" "):
            yield _plain(_decimal(part))
    else:
        yield _plain(_VALUE.get(kind, _decimal)(text))


def _plain(value: Fraction) -> tuple[Key, Fraction]:
    return ("number", (value,)), value


def _decimal(text: str) -> Fraction:
    return Fraction(text.replace(",", "").strip())


def _power(text: str) -> Fraction:
    exponent = re.search(r"[-+]?\d+(?=\}?$)", text)
    mantissa = re.match(_DIGITS, text)
    assert exponent is not None
    assert mantissa is not None
    return _decimal(mantissa[0]) * Fraction(10) ** int(exponent[0])


def _repeating(text: str) -> Fraction:
    found = re.match(r"(\d*)\.(\d*)\D+(\d+)", text)
    assert found is not None
    whole, fixed, repeated = found.groups()
    period = Fraction(int(repeated), (10 ** len(repeated) - 1) * 10 ** len(fixed))
    return Fraction(f"{whole or 0}.{fixed or 0}") + period


def _endless(text: str) -> Fraction:
    """A decimal with dots behind it: its last digits repeat, by the shortest period that they show."""
    found = re.match(r"(\d*)\.(\d+)", text)
    assert found is not None
    whole, places = found[1] or "0", found[2]
    for period in range(1, len(places) // 2 + 1):
        if places[-period:] == places[-2 * period : -period]:
            return _repeating(f"{whole}.{places[:-period]}({places[-period:]})")
    return Fraction(f"{whole}.{places}")


_VALUE = {"power": _power, "repeating": _repeating, "endless": _endless}
