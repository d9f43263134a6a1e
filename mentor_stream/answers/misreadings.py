"""Answers that math-verify takes for a value which they do not state. Works on LaTeX, without parsing."""

import re

_DENIES = re.compile(
    r"^\W*(?:not|neither|never)\b|\b(?:is|are|be|can)\s?not\b|n['\u2019]t\b"
    r"|\bbetween\s+\S+\s+and\b|\bis\s+(?:wrong|incorrect|false)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\(?([A-Ja-j])[).:]+\s+[\w$\\(].*", re.DOTALL)
_BRACKETS = (("(", ")"), ("[", "]"), (r"\{", r"\}"), ("(", "]"), ("[", ")"))
_UNITS = {
    name: unit
    for unit, names in {
        "mm": "millimeter millimetre", "cm": "centimeter centimetre", "m": "meter metre",
        "km": "kilometer kilometre", "in": "inch inches", "ft": "foot feet", "mi": "mile", "mg": "milligram",
        "g": "gram", "kg": "kilogram", "ml": "milliliter millilitre", "l": "liter litre",
        "s": "second sec", "min": "minute", "h": "hour hr", "day": "", "week": "", "cent": "", "dollar": "",
    }.items()
    for one in (unit, *names.split())
    for name in ((one, f"{one}s") if len(one) > 2 else (one,))
}  # fmt: skip
_MEASURE = re.compile(
    r"-?[\d.,/]+(?:\s|\\[,;:! ])*(?:\\(?:text|mathrm|textbf)\{\s*)?([A-Za-z]+)\s*\}?(?:\^\{?([23])\}?)?"
)


def denies(answer: str) -> bool:
    """Whether an answer in words rules values out, or leaves them open, rather than stating one."""
    return bool(_DENIES.search(answer))


def chosen(answer: str) -> str:
    """The letter alone when an option is written out: `B) green`; any other answer as it is."""
    choice = _CHOICE.fullmatch(answer)
    return choice[1] if choice else answer


def other_brackets(gold: str, answer: str) -> bool:
    """Whether one is a set and the other a tuple or an interval; or one number has been put in a set."""
    one, other = _brackets(gold), _brackets(answer)
    if one and other:
        return (one == r"\{") != (other == r"\{")
    return other in ("[", r"\{") and "," not in answer and ";" not in answer


def other_unit(gold: str, answer: str) -> bool:
    """Whether both are a number with a known unit and the units differ: nothing is converted."""
    one, other = _unit(gold), _unit(answer)
    return one is not None and other is not None and one != other


def _brackets(text: str) -> str | None:
    return next((o for o, c in _BRACKETS if text.startswith(o) and text.endswith(c)), None)


def _unit(text: str) -> tuple[str, str] | None:
    found = _MEASURE.fullmatch(text)
    unit = _UNITS.get(found[1].lower()) if found else None
    return (unit, found[2] or "1") if found and unit else None
