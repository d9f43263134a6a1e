"""What comes of a case onto a stream: the lesson if there is one, and the diagnosis in any case."""

from consumers import casework
from consumers.guides.base import Lesson
from mentor_stream import topics
from mentor_stream.broker import MessageTooLarge
from mentor_stream.stream import Stream
from schemas import Diagnosis, Group, Outcome, OversizedRecord, Query

TOO_LARGE = (OversizedRecord, MessageTooLarge)


async def publish_lesson(
    stream: Stream, guide: str, group: Group, lesson: Lesson
) -> tuple[Lesson, Query | None]:
    """The guided query of a lesson with a hint. One that is too large is a lesson without."""
    if not lesson.hint:
        return lesson, None
    guided = casework.guided_query(group, guide, lesson.hint)
    try:
        await stream.publish(topics.GUIDED, guided)
    except TOO_LARGE as error:
        return Lesson(Outcome.SILENT, f"the lesson: {error}", None, lesson.calls), None
    return lesson, guided


async def publish_diagnosis(
    stream: Stream, guide: str, group: Group, lesson: Lesson, guided: Query | None, seconds: float
) -> Diagnosis:
    """The history of the case, shortened if its topic does not take all of it; returned whole."""
    record = casework.diagnosis(group, guide, lesson, guided, seconds)
    try:
        await stream.publish(topics.DIAGNOSES, record)
    except TOO_LARGE:
        await stream.publish(topics.DIAGNOSES, casework.shortened(record))
    return record
