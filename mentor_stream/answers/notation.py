"""Ways to write the same mathematics, brought to the LaTeX that math-verify reads.

Each rule answers a spelling that math-verify 0.9 was seen to misread. Nothing here changes a value.
"""

# ruff: noqa: RUF001 - look-alikes are what this module is about

import re
from collections.abc import Callable

_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
_CHARACTERS = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width forms of ASCII
    | dict.fromkeys(map(ord, _SPACES), " ")
    | dict.fromkeys(map(ord, _INVISIBLE), "")
    | {0x2212: "-", 0x2013: "-", 0x2044: "/"}  # minus sign, en dash, fraction slash
)
_SIGNS = str.maketrans({
    "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "π": r"\pi ", "∞": r"\infty ",
    "°": r"^\circ ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∪": r"\cup ", "±": r"\pm ",
    "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}",
})  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


_UP_TO_TWENTY = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_UP_TO_TWENTY)}
_WORD = re.compile(r"\\text\{\s*([A-Za-z]+)\s*\}")
_NUMBERS_AND = re.compile(
    r"(-?[\d.]{1,40}(?:, ?-?[\d.]{1,40}){0,20}),? (?:\\text\{ ?)?and(?: ?\})? ?(-?[\d.]{1,40})"
)


def _superscript(match: re.Match[str]) -> str:
    return "^{" + match[0].translate(_SUPERSCRIPTS) + "}"


def _repeating(match: re.Match[str]) -> str:
    """A repeating decimal, `0.1\\overline{6}`, as the fraction it is."""
    whole, fixed, repeated = match[1] or "0", match[2], match[3]
    numerator = int(whole + fixed + repeated) - int(whole + fixed)
    return rf"\frac{{{numerator}}}{{{(10 ** len(repeated) - 1) * 10 ** len(fixed)}}}"


_RULES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", _superscript),
    (r"√\s*\(([^()]{1,200})\)", r"\\sqrt{\1}"),
    (r"√\s*(\d+|\w)", r"\\sqrt{\1}"),
    (r"\\(?:[bB]igg?[lrm]?|left|right)(?![a-zA-Z])", ""),
    (r"(?<=\d)(?:\\[,;:! ]|~|\{,\})(?=\d{3}(?!\d))", ""),  # 12\,000 and 12{,}000
    (r"(?<!\d)(\d{1,3})((?: \d{3})+)(?![\d/])", lambda m: m[1] + m[2].replace(" ", "")),
    (r"(?<![\d.])(\d{1,9}) (\d{1,9})/(\d{1,9})(?!\d)", r"\1\\frac{\2}{\3}"),  # 2 1/2
    (r"(?<![\w.])(\d+(?:\.\d+)?|\.\d+)[eE]([+-]?\d{1,4})(?![\w.])", r"\1 \\times 10^{\2}"),
    (r"(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\{?(\d{1,30})\}?", _repeating),
    (r"(?<=\d)\s?\\?%", r"\\%"),
)
_COMPILED = tuple((re.compile(pattern), replacement) for pattern, replacement in _RULES)
_CLOSING = re.compile(r"(?:[.,;:\s]|(?<=[A-Za-z]{2})!+)+$")  # 12! and n! are factorials
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def plain_characters(text: str) -> str:
    """The text with ASCII digits, letters, spaces and minus signs for their look-alikes.

    Keeps what it says; consumers/leak/spelling.py goes further, to find what is hidden.
    """
    return text.translate(_CHARACTERS)


def to_latex(text: str) -> str:
    """The same expression in plain LaTeX without `$`, surrounding space or closing punctuation."""
    text = _unwrap(plain_characters(text))
    text = re.sub(r"^\\?\$(?=[\d.])", "", text)  # money
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    text = _unwrap(text.translate(_SIGNS))
    text = _NUMBER_WORDS.get(_WORD.sub(r"\1", text).lower(), text)
    pair = _NUMBERS_AND.fullmatch(text)
    return f"{pair[1]}, {pair[2]}" if pair else text


def _unwrap(text: str) -> str:
    """Without the delimiters of a formula and a sentence's closing punctuation."""
    text = _trim(text)
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner and "$" not in inner:
            return _trim(inner)
    return text


def _trim(text: str) -> str:
    return _CLOSING.sub("", text.strip())
