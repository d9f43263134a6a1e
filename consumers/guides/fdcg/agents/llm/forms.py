"""What each agent replies: its JSON schema, and how a reply is read."""

import re
from collections.abc import Sequence

from consumers.chat import Schema, UnreadableReply
from consumers.chat.dialect import object_of
from consumers.chat.replies import parse_object, said_in, text_of, texts_of
from consumers.guides.fdcg.agents.base import Flaw

_TEXT = {"type": "string"}


_HINT = object_of(hint=_TEXT)
SCHEMAS: dict[str, Schema] = {
    "attribution": object_of(
        root_cause=_TEXT,
        errors={"type": "array", "items": _TEXT},
        keywords={"type": "array", "items": _TEXT},
    ),
    "generation": _HINT,
    "judgment": object_of(
        critique=_TEXT, verdict={"type": "string", "enum": [*(flaw.value for flaw in Flaw), "pass"]}
    ),
    "repair": _HINT,
    "ranking": object_of(order={"type": "array", "items": {"type": "integer"}}),
}
"""In the order in which fields are written: Judgment says why before it says what."""


def read_attribution(reply: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Root cause, errors and keywords. Raises UnreadableReply, as all of these."""
    said = parse_object(reply)
    return text_of(said, "root_cause"), texts_of(said, "errors"), texts_of(said, "keywords")


def read_hint(reply: str) -> str:
    """The hint, without a heading of its own."""
    return said_in(reply, "hint")


def read_judgment(reply: str) -> tuple[Flaw | None, str]:
    """The flaw, if any, and the critique."""
    said = parse_object(reply)
    verdict = text_of(said, "verdict").lower().strip(" .")
    critique = text_of(said, "critique", optional=True)
    if verdict == "pass":
        return None, critique
    if verdict not in {flaw.value for flaw in Flaw}:
        raise UnreadableReply(f"the verdict is {verdict[:40]!a}, none of pass and the flaws")
    return Flaw(verdict), critique or f"the hint is {verdict}"


def read_order(reply: str, count: int) -> tuple[int, ...]:
    """The places of `count` drafts, the best first; what the reply leaves out follows as it was given."""
    said = parse_object(reply).get("order")
    if not isinstance(said, list):
        raise UnreadableReply("the reply's order is no list")
    named = [place for item in said if (place := _place(item)) is not None and place < count]
    return tuple(dict.fromkeys([*named, *range(count)]))


def _place(item: object) -> int | None:
    """From 0, of a number from 1 or a name such as `draft-2`."""
    digits: Sequence[str] = re.findall(r"\d{1,4}", str(item)) if isinstance(item, (int, str)) else []
    return int(digits[0]) - 1 if digits and int(digits[0]) > 0 else None
