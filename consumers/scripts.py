"""Which script a text is written in: Latin, Cyrillic, Chinese and so on. No I/O."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

FEW = 12
"""Letters that are too few to tell."""
MAINLY = 0.6
MAX_CHARACTERS = 20_000

_TECHNICAL = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\$\$?[^$]{1,600}\$\$?|\\\(.{1,600}?\\\)|\\[A-Za-z]+|https?://\S+", re.DOTALL
)
_EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA"}
_SYMBOLS = {"GREEK", "MATHEMATICAL", "MODIFIER", "DOUBLE-STRUCK", "SCRIPT", "MICRO", "OHM", "ANGSTROM"}
"""What stands for quantities in every language."""


_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = re.compile(r"sin|cos|tan|cot|sec|csc|log|ln|lg|exp|lim|max|min|mod|gcd|lcm|sqrt|det|dim|pi")


def script_of_words(text: str) -> str | None:
    """The script of a text that may have but two words, such as What is 2 + 3; names of points and functions
    belong to every language."""
    words = _WORD.findall(_TECHNICAL.sub(" ", text[:MAX_CHARACTERS]))
    return main_script(
        " ".join(w for w in words if not w[1:].isupper() and not _FUNCTIONS.fullmatch(w)), few=5
    )


def main_script(text: str, few: int = FEW) -> str | None:
    """The script of most of a text's letters, outside of code and formulas; None if they are few or mixed."""
    letters = Counter[str]()
    for character in _TECHNICAL.sub(" ", text[:MAX_CHARACTERS]):
        if character.isalpha():
            letters[_script(character)] += 1
    for symbols in _SYMBOLS:
        del letters[symbols]
    letters["CJK"] *= 3  # one of these is a word or half of one
    total = letters.total()
    if total < few:
        return None
    script, count = letters.most_common(1)[0]
    return script if count >= MAINLY * total else None


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    name = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "unknown").split()[0]
    return "CJK" if name in _EAST_ASIAN else name
