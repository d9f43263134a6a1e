"""A mentor that is stopped: what is out gets its diagnosis, and nothing keeps it."""

from typing import Any

import anyio
import pytest
from anyio import lowlevel

from mentor_stream import topics
from mentor_stream.stream import Stream
from tests.consumers.mentor.mentoring import ScriptedGuide, a_hint, mentoring, publish_cases
from tests.streams import everything

pytestmark = pytest.mark.anyio


async def test_a_lesson_that_is_out_when_the_mentor_is_stopped_gets_its_diagnosis(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, lesson_is_out = Stream.publish, anyio.Event()

    async def stopped_here(self: Stream, topic: Any, record: Any) -> Any:
        receipt = await publish(self, topic, record)
        if topic is topics.GUIDED:
            lesson_is_out.set()
            await lowlevel.checkpoint()
        return receipt

    monkeypatch.setattr(Stream, "publish", stopped_here)
    (group,) = await publish_cases(stream, 1)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        await lesson_is_out.wait()
    (lesson,), (diagnosis,) = (
        await everything(stream, topics.GUIDED),
        await everything(stream, topics.DIAGNOSES),
    )
    assert (diagnosis.guided_query_id, diagnosis.group_id) == (lesson.query_id, group.group_id)


async def test_a_broker_that_takes_nothing_does_not_keep_a_mentor_that_is_stopped(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, asked = Stream.publish, anyio.Event()

    async def never(self: Stream, topic: Any, record: Any) -> Any:
        if topic is topics.GUIDED:
            asked.set()
            await anyio.sleep_forever()
        return await publish(self, topic, record)

    monkeypatch.setattr(Stream, "publish", never)
    monkeypatch.setattr("consumers.mentor.GRACE_SECONDS", 0.01)
    await publish_cases(stream, 1)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        await asked.wait()
    assert not await everything(stream, topics.DIAGNOSES)
