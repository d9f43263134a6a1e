"""How a text calls something the answer, and answers that are words or letters. No I/O.

Works on text that spelling.plain has been over.
"""

import re

_CALLED = (
    r"answer|result|solution|ans"
    r"|(?:final|correct|right|sought|required|desired) "
    r"(?:value|number|amount|total|count|quantity|option|choice)"
)
ANNOUNCEMENT = re.compile(
    r"(?:\\(?:boxed|fbox)\s?\{|####"
    rf"|\b(?:{_CALLED})\b[^.\n=:]{{0,30}}?(?:\bis\b|\bbe\b|\bequals\b|=|:)"
    r"(?:\s*(?:exactly|just|simply|definitely|actually|clearly|therefore|equal to|option|choice))?)"
    r"[\s$(\\\[{*\"']*(?:boxed\s?\{)?-?\s?"
    r"|\b(?:answer|ans) ?- "
    r"|\b(?:the|final|correct|right) answer [$(*\"']{0,3}(?=\d)"
)
"""Ends where what is called the answer begins."""
CONFIRMATION = re.compile(
    r"[\s$)\\\]}*\"']*(?:, ?(?:which|that) )?"
    r"(?:\b(?:is|was|are|would be|must be|should be|as)|=) (?:the|your|our|its)?\s?"
    rf"(?:(?:final|correct|right|exact|desired) )?(?:(?:{_CALLED}|correct)\b|right(?=\s*(?:[.,!;]|$)))"
)
"""Begins where what is called the answer ends."""

_CALLS_A_LETTER = r"it is|it's|answer|(?:pick|choose|select|mark) (?:option|choice)"
_SAYS_LITTLE = {"yes", "no", "true", "false", "none", "not", "all", "some", "one", "even", "odd"}
_OPEN = r"(?:if|whether|when|where|assume|suppose|unless|not|let|is it)\b[^.!?\n]{0,80}"


def spelled(wanted: str, said: str, asked: str) -> bool:
    """Whether a reference stands in the hint as a whole and not in the question, or is called the answer.

    Single letters and the commonest words must be called the answer, or stand in brackets or quotes.
    """
    letter = re.fullmatch(r"\(([a-z])\)", wanted)
    tokens = re.findall(r"\\?[a-z]+|\d+(?:\.\d+)?|\S", letter[1] if letter else wanted)
    if not tokens:
        return False
    whole = r"(?<![\w\\])(?<!\d\.)" + r"\s*".join(map(re.escape, tokens)) + r"(?!\w|\.\d)"
    if re.search(f"(?:{ANNOUNCEMENT.pattern}){whole}|{whole}{CONFIRMATION.pattern}", said):
        return True
    letter_alone = len(tokens) == 1 and re.fullmatch("[a-z]", tokens[0])
    called = rf"\b(?:{_CALLS_A_LETTER}) {whole}(?=\s*(?:[.,;!)]|$|because\b|since\b))"
    if letter_alone and re.search(called, said):
        return True
    if len(tokens) == 1 and tokens[0] in _SAYS_LITTLE and _asserted(tokens[0], said):
        return True
    if len(tokens) == 1 and (letter_alone or tokens[0] in _SAYS_LITTLE):
        whole = rf"(?<=[(\"'$*]){whole}(?=[)\"'$*])"
    return bool(re.search(whole, said)) and not re.search(whole, asked)


def _asserted(word: str, said: str) -> bool:
    """Whether a sentence ends in saying that something is so: `it is true.`, not `if it is true,`."""
    claim = rf"\b(?:is|are) (?:always |never )?{word}\s*(?:[.!\n]|$)"
    return any(
        not re.search(rf"\b{_OPEN}", re.split(r"[.!?\n]", said[: match.start()])[-1] + match[0])
        for match in re.finditer(claim, said)
    )
