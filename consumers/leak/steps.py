"""The steps in which a worked solution is decided, word for word in a hint. No I/O."""

import re
from collections.abc import Iterator, Sequence

from consumers.leak.characters import plain_characters

BEGINNING = 0.5
"""What a hint may repeat of a solution's characters: whoever knows how it begins has still to finish it."""
WORDS = 10
"""In a row are no chance."""
DECISIVE = 8
"""In a row are none in its last step, nor in a sentence that is said in full."""
FORMULA = 7
"""In a row are none when an equation is among them."""
MAX_CHARACTERS = 100_000
"""Of a longer solution the end counts, which decides."""

_HAN = r"[\u3040-\u30ff\u3400-\u9fff]"
_WORD = re.compile(rf"{_HAN}|(?:(?!{_HAN})[^\W_])+(?:['\u2019][^\W_]+)?|[-+/=<>^%]")
_CALCULATION = re.compile(r"<<[^<>]{0,200}>>|####.*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[\n;\u3002\uff1f\uff01]")


def repeated(hint: str, question: str, solution: str) -> str | None:
    """What a hint repeats of the sentences that end in a solution's second half, or None.

    What the question says is no repetition.
    """
    said, asked = _words(hint), f" {' '.join(_words(question))} "
    sentences = list(_late(_cleared(solution)))
    spoken = {
        run for length in (FORMULA, DECISIVE, WORDS) for each in (1, 2) for run in _runs(said, each * length)
    }
    for sentence in sentences:
        for run in _telling(sentence, last=sentence is sentences[-1]):
            if run in spoken and f" {run} " not in asked:
                return run
    return None


def _late(solution: str) -> Iterator[list[str]]:
    at = 0
    for part in _SENTENCE_END.split(solution.strip()):
        at += len(part) + 1
        if at > BEGINNING * len(solution) and (words := _words(part)):
            yield words


def _telling(sentence: Sequence[str], *, last: bool) -> Iterator[str]:
    """The runs of words by which a sentence is known."""
    each = 2 if len(re.findall(_HAN, "".join(sentence))) > len(sentence) / 2 else 1  # two signs are a word
    yield from (run for run in _runs(sentence, each * FORMULA) if " = " in run)
    if last or len(sentence) == each * DECISIVE:
        yield from _runs(sentence, each * DECISIVE)
    yield from _runs(sentence, each * WORDS)


def _runs(words: Sequence[str], length: int) -> Iterator[str]:
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def _cleared(text: str) -> str:
    """Without the marks of a calculator and the final line of a dataset."""
    return _CALCULATION.sub("", text[-MAX_CHARACTERS:])


def _words(text: str) -> list[str]:
    return _WORD.findall(plain_characters(_cleared(text)).casefold())
