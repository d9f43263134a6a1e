"""Ways to write the same mathematics, brought to the LaTeX that math-verify reads.

Each rule answers a spelling that math-verify 0.9 was seen to misread. Nothing here changes a value.
"""

# ruff: noqa: RUF001 - look-alikes are what this module is about

import re
from collections.abc import Callable
from fractions import Fraction
from unicodedata import numeric

from mentor_stream.answers.assignments import top_level
from mentor_stream.answers.numberwords import counted_in_digits, in_digits
from mentor_stream.answers.prose import is_prose

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
    "°": r"^\circ ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∪": r"\cup ", "∩": r"\cap ", "±": r"\pm ",
    "∅": r"\emptyset ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "∈": r"\in ", "≡": r"\equiv ",
    "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ", "μ": r"\mu ", "…": r"\ldots ",
})  # fmt: skip
_PARTS = str.maketrans({
    sign: rf"\frac{{{part.numerator}}}{{{part.denominator}}}"
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
    if (part := Fraction(numeric(sign)).limit_denominator(10))
})  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_WORD = re.compile(r"\\text\{\s*([A-Za-z -]+)\s*\}")
_JOINED = re.compile(r",?\s*(?:\\(?:text|mathrm)\{\s*(?:and|or)\s*\}|\b(?:and|or)\b)\s*")
_EITHER_SIGN = re.compile(r"\\(pm|mp)(?![A-Za-z])\s*")
_UPPER, _LOWER = str.maketrans("±∓", "+-"), str.maketrans("±∓", "-+")
_RELATION = re.compile(r"[<>]|\\(?:le|ge|lt|gt|ne)")


def _superscript(match: re.Match[str]) -> str:
    return "^{" + match[0].translate(_SUPERSCRIPTS) + "}"


def _subscript(match: re.Match[str]) -> str:
    return "_{" + match[0].translate(_SUBSCRIPTS) + "}"


def _as_one_sign(match: re.Match[str]) -> str:
    return "±" if match[1] == "pm" else "∓"


def _repeating(match: re.Match[str]) -> str:
    """A repeating decimal, `0.1\\overline{6}`, as the fraction it is."""
    whole, fixed, repeated = match[1] or "0", match[2], match[3]
    numerator = int(whole + fixed + repeated) - int(whole + fixed)
    return rf"\frac{{{numerator}}}{{{(10 ** len(repeated) - 1) * 10 ** len(fixed)}}}"


def _power_of_ten(match: re.Match[str]) -> str:
    """A number with a power of ten, without a decimal point: sympy's would not be exact."""
    whole, decimals, power = match[1], match[2] or "", int(match[3])
    return rf"{int(whole + decimals)} \times 10^{{{power - len(decimals)}}}"


_RULES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", _superscript),
    (r"[₀₁₂₃₄₅₆₇₈₉]+", _subscript),
    (r"√\s*\(([^()]{1,200})\)", r"\\sqrt{\1}"),
    (r"√\s*(\d+|\w)", r"\\sqrt{\1}"),
    (r"∛\s*\(?(\d+|\w)\)?", r"\\sqrt[3]{\1}"),
    (r"\\(?:[bB]igg?[lrm]?|left|right)(?![a-zA-Z])", ""),
    (r"\\text\{([^{}]*\d[^{}]*)\}", r" \1 "),
    (r"(?<=\d)\{:\}(?=\d)", ":"),
    (r"\\(?:mathrm|text|operatorname)\{\s*([ie])\s*\}", r"\1"),
    (r"\\langle", "("),
    (r"\\rangle", ")"),
    (r"\\varnothing|\\\{\s*\\\}", r"\\emptyset"),
    (r"(?<=[\w)}])\*\*\s*(-?\w+)", r"^{\1}"),
    (r"(?<=[\w)}])\*\*", "^"),
    (r"(?<![\\A-Za-z])(pi|ln)(?![A-Za-z])", r"\\\1 "),
    (r"(?<![\\A-Za-z])(arc)?(sin|cos|tan|cot|log|exp)(?=\s*[(\d\\^])", r"\\\1\2 "),
    (r"\\log_\{?e\}?(?![A-Za-z])", r"\\ln "),
    (
        r"\\(sin|cos|tan|cot|sec|csc)\s*[({]?\s*(\d{1,9})\s*\^\{?\\circ\s*\}?\s*[)}]?",
        r"\\\1(\\frac{\2\\pi}{180})",
    ),
    (r"(?<=\d)(?:\\[,;:! ]|~|\{,\})(?=\d{3}(?!\d))", ""),  # 12\,000 and 12{,}000
    (r"(?<!\d)(\d{1,3})((?: \d{3})+)(?![\d/])", lambda m: m[1] + m[2].replace(" ", "")),
    (r"(?<![\d.])(\d{1,9}) (\d{1,9})/(\d{1,9})(?!\d)", r"\1\\frac{\2}{\3}"),  # 2 1/2
    (r"(?<![\w.])(\d+(?:\.\d+)?|\.\d+)[eE]([+-]?\d{1,4})(?![\w.])", r"\1 \\times 10^{\2}"),
    (
        r"(?<![\w.])(\d{1,40})(?:\.(\d{1,40}))?\s*(?:\\times|\\cdot|\*)\s*10\s*\^\s*\{?\s*\+?(-?\d{1,4})\}?",
        _power_of_ten,
    ),
    (r"(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\{?(\d{1,30})\}?", _repeating),
    (r"^(\d{0,30})\.(\d{0,30})\((\d{1,30})\)$", _repeating),
    (r"(?<!\d)(\d{0,30})\.(\d{0,15}?)(\d{1,15}?)\3{1,30}\s?(?:\.{2,3}|\\[lc]?dots)", _repeating),
    (r"(?<=\d)\s?\\?%", r"\\%"),
    (r"(?<=\d) percent\b", r"\\%"),
    (r"(?<=\d)\s?([AaPp])\.?[Mm]\.?$", r"\\text{ \1m}"),
)
_COMPILED = tuple((re.compile(pattern), replacement) for pattern, replacement in _RULES)
_SAID = (
    (re.compile(r"(?:all |the )?(?:set of )?(?:all )?real numbers|all reals", re.IGNORECASE), r"\mathbb{R}"),
    (re.compile(r"\(\s*-\s*\\infty\s*,\s*\+?\s*\\infty\s*\)"), r"\mathbb{R}"),
    (re.compile(r"no (?:real )?solutions?", re.IGNORECASE), r"\emptyset"),
)
_CLOSING = re.compile(r"(?:(?<!\.)\.|[,;:\s]|(?<=[A-Za-z]{2})!+)+$")  # 12! and n! are factorials
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
    text = text.translate(_PARTS).translate(_SIGNS)
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    text = _unwrap(text)
    said = _WORD.sub(r"\1", text)
    for pattern, meaning in _SAID:
        if pattern.fullmatch(said):
            return meaning
    return in_digits(said) or counted_in_digits(said) or _both_signs(_listed(text))


def _listed(text: str) -> str:
    """Values joined by `and` or `or`, with commas; anything else as it is."""
    if _RELATION.search(text):
        return text
    values = _JOINED.sub(", ", re.sub(r"^either\s+", "", text, flags=re.IGNORECASE))
    return text if is_prose(values) or values.startswith(",") else values


def _both_signs(text: str) -> str:
    """Each value of a list with plus or minus as two values, for the upper and the lower sign."""
    if not _EITHER_SIGN.search(text) or is_prose(text):
        return text
    in_set = text.startswith(r"\{") and text.endswith(r"\}")
    values = [
        value.translate(signs).removeprefix("+")
        for value in top_level(_EITHER_SIGN.sub(_as_one_sign, text[2:-2] if in_set else text))
        for signs in ((_UPPER, _LOWER) if "±" in value or "∓" in value else (_UPPER,))
    ]
    joined = ", ".join(values)
    return rf"\{{{joined}\}}" if in_set else joined


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
