"""The unit of an answer, so that 5 m is not taken for 5 cm. Nothing is converted."""

import re

_NAMES = {
    "mm": "millimeter millimetre", "cm": "centimeter centimetre", "m": "meter metre",
    "km": "kilometer kilometre", "in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile",
    "mg": "milligram", "g": "gram", "kg": "kilogram", "lb": "pound", "oz": "ounce",
    "ml": "milliliter millilitre", "l": "liter litre", "gal": "gallon",
    "s": "second sec", "min": "minute", "h": "hour hr", "day": "", "week": "", "month": "", "year": "",
    "cent": "", "dollar": "", "euro": "", "unit": "", "am": "", "pm": "",
}  # fmt: skip
_UNITS = {
    name: unit
    for unit, names in _NAMES.items()
    for one in (unit, *names.split())
    for name in ((one, f"{one}s") if len(one) > 1 else (one,))
}
WRITTEN_OUT = (
    rf"(?:(?:square|cubic) )?(?:{'|'.join(sorted((n for n in _UNITS if len(n) > 2), key=len, reverse=True))})"
)
"""A pattern for a unit that is written out."""
_COMPOUND = {"mph": "mi/h", "kph": "km/h", "kmh": "km/h"}
_MEASURE = re.compile(
    r"-?[\d.,:/{}\\]*(?:frac|sqrt|pi)?[\d.,/{}]*\d[\d.,/}]*(?:\s|\\[,;:! ]|~)*"
    r"(?P<unit>[A-Za-z\\][A-Za-z\\{}/^\d\s]*)"
)
_MARKUP = re.compile(r"\\(?:text|mathrm|textbf|mbox|operatorname|rm)\b|[{}]|\\[,;:! ]")
_WORD = re.compile(r"([a-z]+)(?:\^([23]))?")
_POWERS = {"square": "2", "sq": "2", "cubic": "3", "cu": "3"}


def other_unit(gold: str, answer: str) -> bool:
    """Whether both are a number with a known unit and the units differ."""
    one, other = unit(gold), unit(answer)
    if one is None or other is None:
        return False
    if "unit" in one or "unit" in other:  # of whatever length: only the power tells
        return one.partition("^")[2] != other.partition("^")[2]
    return one != other


def unit(measure: str) -> str | None:
    """The unit of a number in LaTeX, `cm^2` or `km/h`; None without one, or with one that is not known."""
    found = _MEASURE.fullmatch(measure[:200])
    if not found:
        return None
    text = _MARKUP.sub(" ", found["unit"]).lower().replace(" ^", "^").replace("^ ", "^")
    text = re.sub(r"\s+per\s+|\s*/\s*", "/", text.strip())
    text = _COMPOUND.get(text, text)
    parts = [_simple(part) for part in text.split("/")]
    return "/".join(filter(None, parts)) if all(parts) else None


def _simple(text: str) -> str | None:
    """One unit with its power: `square centimeters` is cm^2."""
    words = text.split()
    power = _POWERS.get(words[0]) if len(words) == 2 else None
    found = _WORD.fullmatch(words[-1]) if len(words) == 1 or power else None
    name = _UNITS.get(found[1]) if found else None
    if found is None or name is None:
        return None
    power = power or found[2]
    return f"{name}^{power}" if power else name
