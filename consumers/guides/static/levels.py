"""Which level of a question's hints a lesson may give, and levels made of its worked solution. No I/O."""

import re
from collections.abc import Collection, Iterator, Sequence

_SENTENCE_OR_LINE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n")  # noqa: RUF001  the full-width ones are meant
_SPACE = re.compile(r"\s")


def within(levels: Sequence[str], highest: int, given: Collection[str]) -> Iterator[tuple[int, str]]:
    """The levels that may be given, numbered from 1, the most concrete first.

    None is above `highest`, and each is above all that were given before: what did not help is not said
    again, nor anything vaguer.
    """
    for number in range(min(highest, len(levels)), 0, -1):
        if levels[number - 1] in given:
            return
        if levels[number - 1]:
            yield number, levels[number - 1]


def beginning(solution: str, share: float) -> str:
    """A first share of a solution, at most: cut where a sentence or line ends, else between two words.

    Empty when not even a word fits.
    """
    text = solution.strip()
    limit = int(len(text) * share)
    for end in (_SENTENCE_OR_LINE_END, _SPACE):
        cuts = [match.end() for match in end.finditer(text) if match.end() <= limit]
        if cuts:
            return text[: cuts[-1]].strip()
    return ""
