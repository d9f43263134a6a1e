"""What a completion settles on: the one place in its text where the answer stands."""

import re

from mentor_stream.answers.notation import plain_characters
from mentor_stream.answers.prose import WORDS, is_prose

MAX_CHARACTERS = 2000
"""No answer is longer: a longer expression is not read."""
_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")
_STATEMENT = re.compile(r"(?:####|\banswer(?: is|\s?[:=]))[ *:=]*(?=[^\n])", re.IGNORECASE)
_OPINION = re.compile(
    r"\W*(?:indeed |also |therefore )?(?:correct|right|reasonable|consistent|verified|valid)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\*\*")
_FORMULA = re.compile(r"\$\$?[^$\n]+\$\$?|\\\([^\n]+?\\\)|\\\[.+?\\\]", re.DOTALL)
_NUMBER = re.compile(r"(?:(?<![\w)}])-)?(?:\d+(?:[,.]\d+)*|\.\d+)(?:/\d+)?(?:[eE][+-]?\d+)?(?:\s?%)?")


def final_answer(completion: str) -> str | None:
    """The answer that a completion settles on, as it is written there.

    Thinking (up to `</think>`) does not count. The last box wins; then what follows the last "answer is",
    "answer:" or "####"; then the whole text if it is one bare expression; then the last formula or number.
    """
    text = completion.rpartition("</think>")[2]
    if "<think>" in text:
        return None
    text = plain_characters(text[-10 * MAX_CHARACTERS :])
    tail = text[-MAX_CHARACTERS:]
    found = last_box(text) or _stated(tail) or _bare(text) or _last_value(tail)
    return found if found and len(found) <= MAX_CHARACTERS else None


def last_box(text: str) -> str | None:
    """What the last closed \\boxed{...} holds, nested braces and boxes counted."""
    opened: list[tuple[bool, int]] = []
    found = None
    for brace in _BRACES.finditer(text):
        if brace[0] == "}" and opened:
            is_box, start = opened.pop()
            found = text[start : brace.start()] if is_box else found
        elif brace[0] == "{" or len(brace[0]) > 2:
            opened.append((len(brace[0]) > 2, brace.end()))
    return (last_box(found) or found) if found else None


def _stated(text: str) -> str | None:
    """What the last "answer is" says, unless it only says that the answer before it is right."""
    ends = [match.end() for match in _STATEMENT.finditer(text)]
    statements = [text[end:].partition("\n")[0] for end in ends]
    settled = [said for said in statements if not _OPINION.match(said)] or statements
    if not settled:
        return None
    sentence = _SENTENCE_END.split(settled[-1])[0].strip()
    formula = _FORMULA.search(sentence)
    return formula[0] if formula else sentence or None


def _bare(text: str) -> str | None:
    """The text itself when it is one short line without prose, or nothing but words."""
    line = text.strip()
    if len(line) > 200 or "\n" in line:
        return None
    return line if not is_prose(line) or WORDS.fullmatch(line.rstrip(".")) else None


def _last_value(text: str) -> str | None:
    found = [(m.end(), m[0]) for pattern in (_FORMULA, _NUMBER) for m in pattern.finditer(text)]
    return max(found)[1] if found else None
