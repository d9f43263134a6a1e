"""What a guide returned, read as if it were foreign: what cannot be recorded would end the mentor. No I/O."""

from math import isfinite

import msgspec

from consumers.drafts import UNSEEN
from consumers.guides.base import Lesson
from schemas import Outcome

MAX_HINT = 100_000
"""Characters. No prompt is so long, and the search for the answer takes time."""
MAX_BYTES = 2**24
"""Of a lesson with its calls."""

_GIVEN = (Outcome.HINT, Outcome.FALLBACK)


class Unusable(ValueError):
    """Nothing that can be recorded or published, and why."""


def read(returned: object) -> Lesson:
    """The lesson, every field of the type that it must have. Raises Unusable."""
    if not isinstance(returned, Lesson):
        raise Unusable(f"{type(returned).__name__}, no Lesson")
    if isinstance(returned.hint, str) and len(returned.hint) > MAX_HINT:
        raise Unusable(f"a hint of {len(returned.hint)} characters")
    try:
        data = msgspec.msgpack.encode(returned)
        lesson = msgspec.msgpack.decode(data, type=Lesson)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unusable(f"a lesson that cannot be recorded: {str(error)!a}") from error
    if len(data) > MAX_BYTES:
        raise Unusable(f"a lesson of {len(data)} bytes with its calls")
    if flaw := _flaw(lesson):
        raise Unusable(flaw)
    return lesson


def _flaw(lesson: Lesson) -> str | None:
    if lesson.outcome not in (*_GIVEN, Outcome.SILENT):
        return f"the outcome {lesson.outcome.value}, which is not a guide's to give"
    if (lesson.hint is not None) != (lesson.outcome in _GIVEN):
        return f"the outcome {lesson.outcome.value} {'without' if lesson.hint is None else 'with'} a hint"
    if not all(isfinite(call.cost) and isfinite(call.seconds) for call in lesson.calls):
        return "a call whose cost or time is no number"
    if lesson.hint is None:
        return None
    if not lesson.hint.strip():
        return "an empty hint"
    return "a hint with control characters" if UNSEEN.search(lesson.hint) else None
