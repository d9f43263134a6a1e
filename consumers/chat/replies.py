"""The JSON object in a language model's reply, however it is wrapped: fences, prose, thinking, slips."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

MAX_CHARACTERS = 64_000
"""Of a reply without its thinking. Reading holds up every other case, so what is longer is not read."""


class UnreadableReply(ValueError):
    """A reply that does not hold what was asked for."""


def parse_object(reply: str) -> dict[str, Any]:
    """The last JSON object of a reply that is not part of another. Raises UnreadableReply.

    Read leniently: trailing commas, line breaks and lone backslashes (LaTeX) inside strings.
    """
    text = reply.rpartition("</think>")[2]
    if len(text) > MAX_CHARACTERS:
        raise UnreadableReply(f"a reply of {len(text)} characters is not read")
    found = list(_objects(text))
    if not found:
        raise UnreadableReply(f"no JSON object in the reply {_excerpt(reply)}")
    return found[-1]


def text_of(reply: dict[str, Any], field: str, *, optional: bool = False) -> str:
    """A string field, stripped. Raises UnreadableReply when it is missing, empty or no valid text."""
    value = reply.get(field, "" if optional else None)
    if not isinstance(value, str) or not (value.strip() or optional):
        raise UnreadableReply(f"the reply's {field} is {_excerpt(repr(value))}, no text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UnreadableReply(f"the reply's {field} is no valid Unicode") from error
    return _latex(value).strip()


def said_in(reply: str, field: str) -> str:
    """The text of a field of the reply's object, without the field's name as a heading of its own.

    Raises UnreadableReply.
    """
    text = text_of(parse_object(reply), field)
    return re.sub(rf"^{field}\s*:\s*", "", text, flags=re.IGNORECASE) or text


def texts_of(reply: dict[str, Any], field: str) -> tuple[str, ...]:
    """A list of strings; a single string counts as a list of one, and anything missing as none."""
    value = reply.get(field) or []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise UnreadableReply(f"the reply's {field} is {_excerpt(repr(value))}, no list")
    return tuple(text_of({field: item}, field) for item in items if item)


MOST_OBJECTS = 100
"""Places at which an object is looked for, counted from the end: bounds the work on garbage."""

_OPENING = re.compile(r'\{(?=\s*")')
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}]', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=\s*[}\]])', re.DOTALL)
_LONE_BACKSLASH = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_decoder = json.JSONDecoder(strict=False)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for start in [match.start() for match in _OPENING.finditer(text)][-MOST_OBJECTS:]:
        found = _object_at(text, start) if start >= end else None
        if found:
            yield found[0]
            end = found[1]


def _object_at(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at `start` and where it ends in the text."""
    with suppress(json.JSONDecodeError, RecursionError):
        return _decoder.raw_decode(text, start)
    end = _closing(text, start)
    if end is None:
        return None
    try:
        return json.loads(_corrected(text[start:end]), strict=False), end
    except (json.JSONDecodeError, RecursionError):
        return None


def _closing(text: str, start: int) -> int | None:
    """Where the brace that opens at `start` is closed, strings left alone."""
    depth = 0
    for match in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return None


def _corrected(text: str) -> str:
    """Without trailing commas, and with backslashes doubled that start no escape."""
    return _STRING_OR_COMMA.sub(_correct, text)


def _correct(match: re.Match[str]) -> str:
    if match[0] == ",":
        return ""
    return _LONE_BACKSLASH.sub(lambda m: m[0] if m[1] else "\\\\", match[0])


def _latex(text: str) -> str:
    """Undoes what JSON makes of LaTeX: \\frac becomes a form feed, \\times a tab, \\boxed a backspace."""
    text = text.replace("\f", "\\f").replace("\b", "\\b")
    return re.sub(r"\t(?=[a-z])", r"\\t", re.sub(r"\r(?=[a-z])", r"\\r", text))


def _excerpt(text: str) -> str:
    return ascii(text[:120])
