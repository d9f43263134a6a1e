"""What a completion settles on: the one place in its text where the answer stands."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from mentor_stream.answers.notation import plain_characters
from mentor_stream.answers.prose import WORDS, is_prose
from mentor_stream.answers.thinking import after_thinking
from mentor_stream.answers.units import WRITTEN_OUT

Form = Literal["free", "boxed", "number"]
MAX_CHARACTERS = 2000
"""No answer is longer: a longer expression is not read."""
_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")
_STATEMENT = re.compile(
    r"(?:####|\banswer(?: is|\s?[:=])|^[ #*]*(?:the )?(?:final )?answer[ *]*$)[ *:=]*(?:\n\s*)?(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_OPINION = re.compile(
    r"\W*(?:indeed |also |therefore )?(?:correct|right|reasonable|consistent|verified|valid)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<!\.)[.!?](?:\s|$)|(?<!\w)\*\*|\*\*(?!\w)")  # not 0.33... nor 2**10
_JOINT = re.compile(r"[\s$]*(?:,|;|,?\s*(?:and|or))[\s$]*")
_EMPHASIS = re.compile(r"^(\*\*|__|`)([^*`]+)\1$")
_REASON = re.compile(r"[ ,]+(?:because|since|which|who|where)\b")
_DENIED = re.compile(r"\b(?:not|than|instead of|divided by|mod|modulo)\s*$")
_FORMULA = re.compile(
    r"\$\$[^$]+\$\$|\$\$?(?!\d[\d,.]*\s+[A-Za-z]{2})[^$\n]+\$\$?|\\\([^\n]+?\\\)|\\\[.+?\\\]", re.DOTALL
)
_NUMBER = r"(?:(?<![\w)}])-)?(?:\d+(?:[,.]\d+)*|\.\d+)(?:/\d+)?(?:[eE][+-]?\d+)?(?:\s?%)?"
_TUPLE = rf"[\[(](?:{_NUMBER}, ?){{1,9}}{_NUMBER}[\])]"
_VALUE = re.compile(rf"{_FORMULA.pattern}|{_TUPLE}|{_NUMBER}(?: {WRITTEN_OUT}\b)?", re.DOTALL)


def final_answer(completion: str, form: Form = "free") -> str | None:
    """The answer that a completion settles on, as it is written there.

    Thinking (up to `</think>`) does not count. Of the form "free" the last box wins; then what follows the
    last "answer is", "answer:" or "####"; then the whole text if it is one bare expression; then the last
    formula or number. "boxed" takes the last box only, "number" the last number wherever it stands.
    """
    text = after_thinking(completion)
    if text is None:
        return None
    text = plain_characters(text[-10 * MAX_CHARACTERS :])
    tail = text[-MAX_CHARACTERS:]
    if form == "number":
        found = next((number[0] for number in reversed(list(re.finditer(_NUMBER, tail)))), None)
    else:
        found = last_box(text)
        if form == "free":
            found = found or _stated(tail) or _bare(text) or _last_value(tail)
    return found if found and len(found) <= MAX_CHARACTERS else None


def last_box(text: str) -> str | None:
    """What the last closed \\boxed{...} holds, nested braces and boxes counted.

    Boxes that only a comma, `and` or `or` parts are one answer, a list.
    """
    boxes = _boxes(text)
    listed: list[_Box] = []
    for box in reversed(boxes):
        if listed and box.end > listed[-1].macro:
            continue  # inside the one after it
        if listed and not _JOINT.fullmatch(text, box.end + 1, listed[-1].macro):
            break
        listed.append(box)
    return (
        ", ".join(text[box.start : box.end] for box in map(partial(_innermost, boxes), listed[::-1])) or None
    )


class _Box(NamedTuple):
    """Where a box's macro begins, and its content begins and ends."""

    macro: int
    start: int
    end: int


def _boxes(text: str) -> list[_Box]:
    """All closed boxes in the order in which they close."""
    opened: list[tuple[bool, int, int]] = []
    found: list[_Box] = []
    for brace in _BRACES.finditer(text):
        if brace[0] == "}" and opened:
            is_box, macro, start = opened.pop()
            if is_box:
                found.append(_Box(macro, start, brace.start()))
        elif brace[0] == "{" or len(brace[0]) > 2:
            opened.append((len(brace[0]) > 2, brace.start(), brace.end()))
    return found


def _innermost(boxes: Sequence[_Box], box: _Box) -> _Box:
    """The last box within a box, within that, and so on; itself where it has none."""
    place = boxes.index(box)
    while place and boxes[place - 1].macro >= boxes[place].start:
        place -= 1
    return boxes[place]


def _stated(text: str) -> str | None:
    """What the last "answer is" says, unless it only says that the answer before it is right."""
    statements = [_said(text, match.end()) for match in _STATEMENT.finditer(text)]
    settled = [said for said in statements if not _OPINION.match(said)] or statements
    if not settled:
        return None
    sentence = _REASON.split(_SENTENCE_END.split(settled[-1])[0])[0].strip()
    formula = _FORMULA.search(sentence)
    return formula[0] if formula else sentence or None


def _said(text: str, start: int) -> str:
    """The formula that begins here, on however many lines, or the rest of the line."""
    formula = _FORMULA.match(text, start)
    return formula[0] if formula else text[start:].partition("\n")[0]


def _bare(text: str) -> str | None:
    """The text itself when it is one short line without prose, or nothing but words."""
    line = _EMPHASIS.sub(r"\2", text.strip())
    if len(line) > 200 or "\n" in line:
        return None
    return line if not is_prose(line) or WORDS.fullmatch(line.rstrip(".")) else None


def _last_value(text: str) -> str | None:
    """The last formula, or number with its unit, that is not one of those ruled out: 3, not 2."""
    found = list(_VALUE.finditer(text))
    stated = [m for m in found if not _DENIED.search(text, max(0, m.start() - 12), m.start())]
    return (stated or found)[-1][0] if found else None
