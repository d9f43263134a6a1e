"""Questions with options: the letter and the text of the right one are the same answer. No I/O."""

import re

from consumers.leak.spelling import plain
from mentor_stream.answers.options import Option, options

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def right_option(question: str, reference: str) -> Option | None:
    """The option that a reference names by its letter, or states."""
    letter = re.fullmatch(r"\s*\\?(?:boxed\{|text\{)?\(?([A-J])\)?[.}]*\s*", reference)
    wanted = plain(reference).strip(" .$")
    for option in options(question):
        if option.letter == letter[1] if letter else wanted and plain(option.text).strip(" .$") == wanted:
            return option
    return None


_CHOOSES = r"(?:choose|pick|select|mark|take|tick)"
_SETTLES = (
    rf"(?:\b{_CHOOSES}|\b(?:it|that|this)(?: is| must be| has to be|'s)|\bmust be|\bhas to be"
    r"|\b(?:so|thus|hence|therefore)\b[^.?!\n]{0,40}?(?:\bis|\bequals|=))"
)


def chosen(hint: str, option: Option) -> str | None:
    """How a hint settles on an option: by its letter, its place or its text."""
    said = re.sub(r"[^.?!\n]*\?", " ", plain(hint))  # a question settles nothing
    letter, place = option.letter.lower(), _ORDINALS[ord(option.letter) - ord("A")]
    ways = [
        rf"\b{_CHOOSES} (?:the )?(?:option |choice |answer |letter )?[(\"'*]*{letter}\b(?!['\w])",
        rf"(?:option |choice |\(|^|[.!\n] ?){letter}\)? is (?:the )?(?:one|right|correct|answer|best)\b",
        rf"\b(?:{_CHOOSES}|is) the {place} (?:option|choice|one|answer)\b",
        rf"\bthe {place} (?:option|choice|one|answer) is (?:the )?(?:right|correct|answer|one)\b",
    ]
    if text := plain(option.text).strip(" .$"):
        whole = r"\s*".join(map(re.escape, text.split()))
        if measure := re.fullmatch(r"([\d.,/-]+) ?[a-z].*", text):
            whole = rf"(?:{whole}|{re.escape(measure[1])}(?=\s*(?:[.,!;]|$)))"
        ways.append(rf"{_SETTLES} (?:the |an? )?[$(\"'*]*{whole}(?!\w|\.\d)")
    found = next(filter(None, (re.search(way, said) for way in ways)), None)
    return found[0].strip() if found else None
