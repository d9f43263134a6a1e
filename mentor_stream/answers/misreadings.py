"""Answers that math-verify takes for a value which they do not state. Works on LaTeX, without parsing."""

import re

_DENIES = re.compile(
    r"^\W*(?:not|neither|never|either)\b|\b(?:is|are|be|can)\s?not\b|n['\u2019]t\b"
    r"|\bbetween\s+\S+\s+and\b|\bis\s+(?:wrong|incorrect|false)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\(?([A-Ja-j])[).:]+\s+[\w$\\(].*", re.DOTALL)
_BRACKETS = (("(", ")"), ("[", "]"), (r"\{", r"\}"), ("(", "]"), ("[", ")"))
_BASED = re.compile(r"(\d[0-9A-Fa-f]*|[A-F]{2,})_\{?(\d{1,2})\}?")
_MODULUS = re.compile(r"\\(?:pmod|bmod|mod)\s*\{?\s*(\w+)\s*\}?|\(\s*\\?mod\s+(\w+)\s*\)")
_CONGRUENT = re.compile(r"^.{0,20}?\\equiv\s*")
_QUANTITIES = re.compile(r"\d\S*\s+[a-z]+\s+(?:and|or)\s+\d\S*\s+[a-z]+", re.IGNORECASE)


def denies(answer: str) -> bool:
    """Whether an answer in words rules values out, or leaves them open, rather than stating one."""
    return bool(_DENIES.search(answer) or _QUANTITIES.search(answer))


def chosen(answer: str) -> str:
    """The letter alone when an option is written out: `B) green`; any other answer as it is."""
    choice = _CHOICE.fullmatch(re.sub(r"\\[ ,;:!]", " ", answer))
    return choice[1] if choice else answer


def other_brackets(gold: str, answer: str) -> bool:
    """Whether one is a set and the other a tuple or an interval; or one number has been put in a set."""
    one, other = _brackets(gold), _brackets(answer)
    if one and other:
        return (one == r"\{") != (other == r"\{")
    return other in ("[", r"\{") and "," not in answer and ";" not in answer


def other_base(gold: str, answer: str) -> bool:
    """Whether both are numbers of different bases, base ten where none is said of the reference.

    An answer without its base is read in the reference's.
    """
    one, other = _BASED.fullmatch(gold), _BASED.fullmatch(answer)
    if other is None:
        return False
    return (one[2] if one else "10") != other[2] if one or gold.isalnum() else False


def residues(gold: str, answer: str) -> tuple[str, str] | None:
    """What two congruences say without their modulus, in its range; None when their moduli differ.

    Only one with a modulus: the other is its residue. Without any, both as they are.
    """
    moduli = {
        next(filter(None, found.groups())) for text in (gold, answer) for found in _MODULUS.finditer(text)
    }
    if not moduli:
        return gold, answer
    if len(moduli) > 1:
        return None
    (modulus,) = moduli
    one, other = (_residue(text, modulus) for text in (gold, answer))
    return one, other


def _residue(text: str, modulus: str) -> str:
    bare = _CONGRUENT.sub("", _MODULUS.sub("", text)).strip(" ,")
    small = re.fullmatch(r"-?\d{1,9}", bare) and modulus.isdigit() and int(modulus)
    return str(int(bare) % int(modulus)) if small else bare


def _brackets(text: str) -> str | None:
    return next((o for o, c in _BRACKETS if text.startswith(o) and text.endswith(c)), None)
