"""Texts in one spelling, to look for numbers in: plain characters, simple LaTeX, digits for words.

Knows more look-alikes than mentor_stream/answers/notation.py, which reads formulas for a verifier: whoever
reads a hint sees through any of them.
"""

import re

from consumers.leak.characters import plain_characters
from consumers.leak.romans import to_digits

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_SMALL = {word: n for n, word in enumerate(_UNITS)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14,
    "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20,
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip


def plain(text: str) -> str:
    """The text in lower case, with plain characters, LaTeX without ornament and numbers in digits."""
    return words_to_digits(plain_latex(without_ornament(to_digits(plain_characters(text)))).lower())


_ORNAMENTS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![\w.,'])(\d{1,3})((?:['_]\d{3}){1,12})(?![\w'])", lambda m: m[1] + re.sub("['_]", "", m[2])),
        (r"(?<![\w\\})\]])(_{1,3})(?=[^\s_{])([^_\n]{0,200}[^\s_])\1(?!\w)", lambda m: m[2]),
        (r"(?<=\d)\*\*(\d{1,20})\*\*(?!\w)", lambda m: m[1]),
        (r"(?<![\w*)])\*\*(\d{1,20})\*\*(?=\d)", lambda m: m[1]),
        (r"(?<=\d)(?:`{1,4}|~~)(?=\d)", lambda _: ""),
        (r"(?<![A-Za-z0-9\\])([A-Za-z])\*\*(?=[\w({-])(?![\w.]{1,20}\*\*)", lambda m: f"{m[1]}^"),
        (r"(?<=[\d)}])\*\*(?=[\w({-])(?![\w.]{1,20}\*\*)", lambda _: "^"),
        (r"(?<=\d)\{\}(?=\d)", lambda _: ""),
        (r"\$([-+])\$(?=[\d.])", lambda m: m[1]),
        (r"(?:π|(?<![A-Za-z\\])[Pp]i(?![A-Za-z]))(?=[A-Za-z])", lambda _: r"\pi "),
        (r"∞|\b[Ii]nfinity\b", lambda _: r"\infty "),
        (r"π|(?<![A-Za-z\\])[Pp]i(?![A-Za-z])", lambda _: r"\pi"),
    )
)


def without_ornament(text: str) -> str:
    """Without Markdown's underscores, digit groupers and empty braces; powers with ^, and pi a command."""
    for pattern, replacement in _ORNAMENTS:
        text = pattern.sub(replacement, text)
    return text


_FONT = r"(?:text|textbf|textit|mathrm|mathbf|mathit|mathbb|mbox|underline|operatorname)"
_LATEX = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\[dtc]frac", r"\\frac"),
        (r"\\(?:left|right|displaystyle|bigg?[lr]?|Bigg?[lr]?)(?![A-Za-z])", ""),
        (rf"(?<=\d)\\{_FONT}\s?\{{(\d{{1,40}})\}}", r"\1"),
        (rf"\\{_FONT}\s?\{{(\d{{1,40}})\}}(?=\d)", r"\1"),
        (r"(?<![\w\\}\]^_])\{(\d{1,20})\}\{(\d{1,20})\}", r"\1\2"),
        (r"(?<=\d)\\!(?=\d)", ""),
        (r"\^\s?-\s?(\d{1,20})", r"^{-\1}"),
        (r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname)\s?\{([^{}]{0,200})\}", r" \1 "),
        (r"(?<=\d)(?:\{,\}|\\[,;:! ]|~)(?=\d{3}(?!\d))", ""),
        (r"\\[,;:! ]|~", " "),
        (r"\\([%$])", r"\1"),
        (r"\{([^{}]{1,100})\\over(?![A-Za-z])([^{}]{1,100})\}", r"\\frac{\1}{\2}"),
        (r"(?<![\d.])(\d{1,40})\s?\\over\s?(\d{1,40})", r"\1/\2"),
        (r"(?:\\sqrt\s?|√\s?|\bsqrt\s?)(?:\{\s?(\d+)\s?\}|\(\s?(\d+)\s?\))", r"\\sqrt{\1\2}"),
        (r"(?:√\s?(\d+)|\\sqrt\s?(\d)|\bsqrt\s?(\d+))", r"\\sqrt{\1\2\3}"),
        (r"\\frac\s?(\d)\s?(\d)", r"\\frac{\1}{\2}"),
        (r"(?<=\d)\s?\\frac", r" \\frac"),
        (r"\\frac\s?\{\s?(-?[\d.,]{1,40})\s?\}\s?\{\s?(-?[\d.,]{1,40})\s?\}", r"\1/\2"),
        (r"\\(?:cdot|times)(?![A-Za-z])", "*"),
        (r"\\div(?![A-Za-z])", "/"),
        (r"(\\[A-Za-z]{1,20})(?=\d)", r"\1 "),
    )
)


def plain_latex(text: str) -> str:
    """The same formulas with fewer commands: fractions of numbers as a/b, no spacing, no text commands."""
    for pattern, replacement in _LATEX:
        text = pattern.sub(replacement, text)
    return text


_digit = "|".join(_UNITS[1:10])
_below_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[- ]?(?:{_digit}))?|(?:{'|'.join(reversed(_UNITS))}))"
_below_1000 = rf"(?:(?:(?:{_below_100}|an?)[- ]hundred(?:[- ](?:and[- ])?{_below_100})?)|{_below_100})"
_scale = "|".join(_SCALES)
_CARDINAL = re.compile(
    rf"\b(?:(?:{_below_1000}|an?)[- ](?:{_scale}),?[- ](?:and[- ])?)*"
    rf"(?:{_below_1000}(?:[- ](?:{_scale}))?|an?[- ](?:{_scale}))\b"
)
_WORD = re.compile(rf"{'|'.join(_TENS)}|{'|'.join(reversed(_UNITS))}|hundred|{_scale}")
_MISSPELT = (("fourty", "forty"), ("ninty", "ninety"))
_STATES_ONE = re.compile(
    r"(?:\b(?:is|be|equals?|equal to|gives?|get|minus|negative|plus|times|exactly|point|and)|[-=:+*/(])"
    r"[^\w\n]{0,3}$"
)
_part = "|".join(sorted(_PARTS, key=len, reverse=True))
_RULES = (
    (re.compile(r"\bhalf (?:a )?dozen\b"), lambda _: "6"),
    (re.compile(r"\b(?:(?:(\d{1,40})|an?) )?dozen\b"), lambda m: str(12 * int(m[1] or 1))),
    (re.compile(rf"\b(\d+(?:\.\d+)?) ({_scale}|hundred)\b"), lambda m: _scaled(m[1], m[2])),
    (re.compile(rf"\b(?:(\d{{1,40}}|one|an?)[- ])?({_part})(s)?\b"), lambda m: _fraction(m)),  # noqa: PLW0108
    (re.compile(r"\b(\d+|one) and (?:an? )?(\d+/\d+)"), lambda m: f"{m[1].replace('one', '1')} {m[2]}"),
    (re.compile(r"\b(\d+) point (\d(?: \d)*)\b"), lambda m: f"{m[1]}.{m[2].replace(' ', '')}"),
    (re.compile(r"\b(?:minus|negative) (?=[\d.])"), lambda _: " -"),
    (re.compile(r"\b(?:\d|one)(?: (?:\d|one)){2,20}\b"), lambda m: m[0].replace("one", "1")),
    (re.compile(r"\b(?:the )?square root of (\d+)\b(?!\.\d)"), lambda m: rf"\sqrt{{{m[1]}}}"),
    (re.compile(r" ?\bper ?cent\b"), lambda _: "%"),
    (re.compile(r"(?<=\d) ?% of (?=[\d(])"), lambda _: "/100*"),
    (re.compile(r"(\d/\d{1,9}) of (?=[\d(])"), lambda m: f"{m[1]}*"),
    (re.compile(r"(?<=[\d)]) (?:times|multiplied by) (?=[\d(\\])"), lambda _: "*"),
    (re.compile(r"(?<=[\d)]) (?:divided by|over) (?=[\d(])"), lambda _: "/"),
    (re.compile(r"(?<=[\d)]) plus (?=[\d(])"), lambda _: "+"),
    (re.compile(r"(?<=\d) (?:raised )?to the power (?:of )?(\d{1,9})\b"), lambda m: f"^{m[1]}"),
    (re.compile(r"(?<=\d) (squared|cubed)\b"), lambda m: "^2" if m[1] == "squared" else "^3"),
)


def words_to_digits(text: str) -> str:
    """Number words of a lower-case text in digits. `one` stays where it only means somebody or something."""
    for wrong, right in _MISSPELT:
        text = text.replace(wrong, right)
    text = _CARDINAL.sub(_cardinal, text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def _cardinal(match: re.Match[str]) -> str:
    if match[0] == "one" and not _STATES_ONE.search(match.string[max(0, match.start() - 16) : match.start()]):
        return "one"
    total = current = 0
    for word in _WORD.findall(match[0]):
        if word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALES:
            total, current = total + max(current, 1) * _SCALES[word], 0
        else:
            current += _SMALL.get(word, 0)
    return str(total + current)


def _scaled(number: str, scale: str) -> str:
    whole, _, places = number.partition(".")
    zeros = len(str(_SCALES.get(scale, 100))) - 1
    return number if len(places) > zeros else str(int(whole + places.ljust(zeros, "0")))


def _fraction(match: re.Match[str]) -> str:
    """Three quarters as 3/4. A third is one, but the third is an ordinal, and so is a twenty-fifth."""
    count, part, plural = match[1], _PARTS[match[2]], match[3]
    if count is None and match[2] != "half":
        return match[0]
    number = int(count) if count and count.isdecimal() else 1
    if number != 1 and not plural:
        return match[0]
    return f"{number}/{part}"
