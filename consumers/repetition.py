"""Texts that say one thing over and over, as language models do that got stuck. No I/O."""

import re
import zlib

MAX_CHARACTERS = 20_000
LONGEST = 20
"""Words of a phrase."""
DENSE = 8
"""How far a text is compressed that hardly says anything new; prose comes to 2 or 3."""

_WORD = re.compile(r"\w+", re.UNICODE)


def repeats(text: str) -> str | None:
    """The phrase that a text goes on to repeat, or None."""
    text = text[:MAX_CHARACTERS].casefold()
    words = _WORD.findall(text)
    for length in range(1, LONGEST + 1):
        times = 8 if length == 1 else 5 if length < 4 else 3
        if phrase := _run(words, length, times):
            return phrase
    packed = text.encode(errors="replace")
    return text[:40] if len(packed) > 400 and len(packed) > DENSE * len(zlib.compress(packed)) else None


def _run(words: list[str], length: int, times: int) -> str | None:
    """A phrase of so many words that stands so many times in a row, numbers alone not counted."""
    same = 0
    for at in range(length, len(words)):
        same = same + 1 if words[at] == words[at - length] else 0
        if same >= length * (times - 1):
            phrase = " ".join(words[at - length + 1 : at + 1])
            if any(letter.isalpha() for letter in phrase):
                return phrase
    return None
