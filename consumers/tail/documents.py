"""Events as JSON, a line each, for jq and the like."""

from base64 import b64encode
from enum import Enum
from math import isfinite
from typing import Any

import msgspec

from consumers.following import Event
from consumers.tail.lessons import Lesson, Result
from schemas import Array


def of_event(event: Event) -> dict[str, Any]:
    """The whole record with where it stands; arrays are lists, bytes are base64."""
    return {
        "topic": event.topic.name,
        "partition": event.place.partition,
        "offset": event.offset,
        "time": event.time,
        "record": None if event.record is None else _plain(event.record),
        "unreadable": event.trouble or None,
    }


def of_lesson(lesson: Lesson) -> dict[str, Any]:
    """The question, the hint, and the case that it came of."""
    return {
        "event": "hint",
        "time": lesson.time,
        "query": _plain(lesson.query),
        "diagnosis": lesson.diagnosis and _plain(lesson.diagnosis),
    }


def of_result(result: Result) -> dict[str, Any]:
    """How the hint's group scored."""
    return {
        "event": "result",
        "time": result.time,
        "query_id": result.query.query_id,
        "right": result.right,
        "judged": result.judged,
        "trajectories": result.trajectories,
    }


def _plain(value: Any) -> Any:
    """What JSON knows of a record: arrays are lists, bytes base64, and what is no number is nothing."""
    match value:
        case Array():
            return _plain(value.numpy().tolist())
        case msgspec.Struct():
            return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Enum():
            return value.value
        case bytes():
            return b64encode(value).decode()
        case float() if not isfinite(value):
            return None
        case _:
            return value
