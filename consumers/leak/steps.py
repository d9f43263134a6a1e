"""Sentences of a worked solution in a hint, word for word. No I/O."""

import re
from collections.abc import Iterator, Sequence

from consumers.leak.characters import plain_characters

WORDS = 10
"""In a row are no chance, wherever they stand in the solution."""
DECISIVE = 8
"""In a row are none in its last step, nor in a sentence that is said in full."""
FORMULA = 7
"""In a row are none when an equation is among them."""
MAX_CHARACTERS = 100_000
"""Of a longer solution the end counts, which decides."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[-+/=<>^%]")
_CALCULATION = re.compile(r"<<[^<>]{0,200}>>|####.*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[\n;]")


def repeated(hint: str, question: str, solution: str) -> str | None:
    """What a hint repeats of a solution's sentences and the question does not say, or None."""
    said, asked = _words(hint), f" {' '.join(_words(question))} "
    sentences = [words for part in _SENTENCE_END.split(_cleared(solution)) if (words := _words(part))]
    spoken = {length: set(_runs(said, length)) for length in (FORMULA, DECISIVE, WORDS)}
    for sentence in sentences:
        last = sentence is sentences[-1]
        for run in _telling(sentence, last=last):
            if run in spoken[run.count(" ") + 1] and f" {run} " not in asked:
                return run
    return None


def _telling(sentence: Sequence[str], *, last: bool) -> Iterator[str]:
    """The runs of words by which a sentence is known."""
    yield from (run for run in _runs(sentence, FORMULA) if " = " in run)
    if last or len(sentence) == DECISIVE:
        yield from _runs(sentence, DECISIVE)
    yield from _runs(sentence, WORDS)


def _runs(words: Sequence[str], length: int) -> Iterator[str]:
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def _cleared(text: str) -> str:
    """Without the marks of a calculator and the final line of a dataset."""
    return _CALCULATION.sub("", text[-MAX_CHARACTERS:])


def _words(text: str) -> list[str]:
    return _WORD.findall(plain_characters(_cleared(text)).casefold())
