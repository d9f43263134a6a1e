"""Right when the completion settles on the option that the reference names, by its letter or by its text."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import schemas
from mentor_stream.answers.final import last_box
from mentor_stream.answers.notation import plain_characters
from mentor_stream.answers.options import MAX_OPTIONS, Option, options
from mentor_stream.answers.thinking import after_thinking
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Reward, Unscorable

LETTERS = "ABCDEFGHIJ"[:MAX_OPTIONS]
MAX_CHARACTERS = 20_000
"""Of the end of an answer: more is not read."""


class Config(Section):
    """Where the options are, and how the reference names one."""

    options: str | None = None
    """Column (among `data.extra`) with the options in JSON: a list of texts, or texts by letter. Left out,
    they are read from the question."""
    counts_from: Literal[0, 1] | None = None
    """The reference is the option's number, counted from here. Left out, it is a letter or a text."""


def build(config: Config) -> Reward:
    """The verifier."""
    return ChoiceReward(config)


class ChoiceReward:
    """Reward 1 for the right option alone, else 0."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        offered = self._offered(query)
        wanted = self._wanted(query.reference, offered)
        answer = after_thinking(completion)
        letters = settled(answer[-MAX_CHARACTERS:], offered) if answer else ""
        if len(letters) == 1:
            return Judgement(letters == wanted, float(letters == wanted), f"answers {letters}")
        return Judgement(
            False, 0.0, f"answers {' and '.join(letters)}" if letters else "settles on no option"
        )

    def _offered(self, query: schemas.Query) -> list[Option]:
        column = self._config.options
        if column is None:
            return options(query.question)
        if column not in query.extra:
            raise Unscorable(f"there is no column {column!r}: name it in data.extra, too")
        return _listed(query.extra[column], column)

    def _wanted(self, reference: str, offered: Sequence[Option]) -> str:
        """The letter of the right option."""
        known = "".join(option.letter for option in offered) or LETTERS
        stated = reference.strip()
        if (first := self._config.counts_from) is not None and stated.isdecimal():
            letter = LETTERS[int(stated) - first : int(stated) - first + 1] if int(stated) >= first else ""
        else:
            named = _LETTER.fullmatch(stated)
            letter = named[1].upper() if named else _by_text(stated, offered) or ""
        if not letter or letter not in known:
            raise Unscorable(
                f"the reference {stated[:80]!r} is none of the options {known[0]} to {known[-1]}"
            )
        return letter


def settled(answer: str, offered: Sequence[Option]) -> str:
    """The letters that an answer settles on: one, none, or several, which is no answer.

    The first of these that says anything: the last box, the last statement of an answer or a choice, the last
    line, the last letter in bold type, a letter or the text of one option in the last sentence.
    """
    text = plain_characters(answer).strip()
    known = "".join(option.letter for option in offered) or LETTERS
    return next((found for place in _places(text) if (found := _read(place, offered, known))), "")


_LETTER = re.compile(r"(?:\\(?:text|textbf|mathrm|mathbf)\{)?[\s(\[*$]*([A-Ja-j])[\s)\].:*}$]*")
_STATED = re.compile(
    r"(?:\b(?:answers?|options?|choices?)\b(?:\s+(?:choice|option|letter))?\s*\**\s*(?:is|are|was|:|="
    r"|would be|should be|must be|has to be)|\b(?:choose|pick|select|go with)\b|####"
    r"|\u7b54\u6848\s*[\u662f\u4e3a:])[\s:*]*(?!\s*not\b)",  # Chinese: the answer is
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*\s*([^*\n]{1,200}?)\s*\*\*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(*])|\n")
_DENIAL = re.compile(
    r"\b(?:not|isn't|rather than|instead of|unlike)\b[^.;,\n]*"
    r"|[(\[]?\b[A-J]\b[)\]]? (?:is|are) (?:clearly |also )?(?:incorrect|wrong|false)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\bnot|n't|\bnever)\s+(?:\w+\s+)?$", re.IGNORECASE)
_ENTRY = re.compile(r"(?<![\w(])\(?([A-J])[:.)]\s")
_ONE = r"(?:option |choice |answer |letter )?[\s(\[*$]*([A-Ja-j])\b"
_BEGINS = re.compile(rf"[\s*:]*(?:the )?{_ONE}(?P<after>[\s)\].:*$,;-]*)(?P<next>\w*)", re.IGNORECASE)
_MORE = re.compile(rf"[\s)\].*$]*(?:,\s*(?:and|or)?|\band\b|\bor\b|/|&)\s*{_ONE}(?![\w'])(?!\s+[a-z])")
_MARKED = re.compile(
    r"[(\[]([A-J])[)\]]|(?<![\w'.-])([B-HJ])(?![\w'-])|(?<![\w'.-])([AI])(?=\s*(?:[.,;:!)/]|$|\b(?:or|and|nor)\b))"
)
_RIGHT = re.compile(r"\s+(?:the |clearly |therefore |definitely )*(?:correct|right|true|best|answer)\b")
_GOES_ON = ("because", "since", "as", "and", "or", "for", "which", "with", "by", "due", "not", "but")


def _places(text: str) -> Iterator[str]:
    """Where an answer may stand, the most binding first."""
    if box := last_box(text):
        yield box
    stated = [match for match in _STATED.finditer(text) if not _is_denied(text, match.start())]
    if stated:
        yield text[stated[-1].end() :].partition("\n")[0]
    lines = text.splitlines() or [""]
    yield lines[-1] if len(lines[-1]) <= 200 and _LETTER.match(lines[-1]) else ""
    alone = {
        found[1].upper(): line for line in lines if len(line) <= 20 and (found := _LETTER.fullmatch(line))
    }
    yield "".join(alone.values()) if len(alone) == 1 else ""
    if bold := [found for found in _BOLD.findall(text) if _LETTER.match(found)]:
        yield bold[-1]
    yield "\0" + _SENTENCE.split(text)[-1]


def _is_denied(text: str, at: int) -> bool:
    return _DENIED.search(text, max(0, at - 20), at) is not None


def _read(place: str, offered: Sequence[Option], known: str) -> str:
    """The letters at a place: how it begins, else whose text it is; anywhere in a last sentence."""
    if place.startswith("\0"):
        return _anywhere(_DENIAL.sub(" ", place[1:]), offered, known)
    if len(set(_ENTRY.findall(place))) > 2:
        return ""  # a list of the options
    begins = _BEGINS.match(place)
    if begins and begins[1].upper() in known and not _is_article(begins, place):
        letters, end = begins[1].upper(), begins.end(1)
        while (more := _MORE.match(place, end)) and more[1].upper() in known:
            letters, end = letters + more[1].upper(), more.end(1)
        return "".join(dict.fromkeys(letters))
    return _by_text(place, offered) or _by_text(re.split(r"[.!]\s", place)[0], offered) or ""


def _is_article(begins: re.Match[str], place: str) -> bool:
    """Whether the letter is a word of a sentence, or denied: `A prime`, `a cat`, `I think`, `A is wrong`."""
    word = begins["next"]
    if word.lower() == "is":
        return not _RIGHT.match(place, begins.end("next"))
    plainly = begins["after"].isspace() or (not begins["after"] and bool(word))
    return plainly and bool(word) and word.lower() not in _GOES_ON and not word[0].isupper()


def _anywhere(sentence: str, offered: Sequence[Option], known: str) -> str:
    marked = ["".join(found) for found in _MARKED.findall(sentence)]
    if letters := dict.fromkeys(letter for letter in marked if letter in known):
        return "".join(letters)
    texts = {option.letter: _bare(option.text) for option in offered}
    said = f" {_bare(sentence)} "
    found = [letter for letter, option in texts.items() if option and f" {option} " in said]
    undecided = found and " or " in said.replace(texts[found[0]], "")
    return "" if undecided else "".join(found)


def _by_text(text: str, offered: Sequence[Option]) -> str | None:
    """The letter of the only option that says this."""
    bare = _bare(text)
    found = [option.letter for option in offered if bare and _bare(option.text) == bare]
    return found[0] if len(found) == 1 else None


def _bare(text: str) -> str:
    """A text without case, marks of emphasis, and punctuation around its words."""
    plain = re.sub(r"[*_`$\"“”]|\\(?:text|mathrm|textbf)(?=\{)|[{}]", "", plain_characters(text))
    words = plain.casefold().split()
    return " ".join(filter(None, (word.strip(".,;:!?()") or word for word in words))).strip(". ")


def _listed(value: str, column: str) -> list[Option]:
    """Options as a dataset's column has them. Raises Unscorable."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(
        found.get("text"), list
    ):  # ARC: {"text": [...], "label": [...]}
        found = found["text"]
    if isinstance(found, list) and 2 <= len(found) <= MAX_OPTIONS:
        return [Option(letter, str(text)) for letter, text in zip(LETTERS, found, strict=False)]
    if isinstance(found, dict) and found and all(letter in tuple(LETTERS) for letter in found):
        return [Option(letter, str(text)) for letter, text in found.items()]
    raise Unscorable(f"column {column!r} holds no list of 2 to {MAX_OPTIONS} options: {value[:80]!r}")
