"""What a mentor tells of its work: counts while it works and at its end, and that its drafts are refused."""

import logging

import anyio
import pytest

import schemas
from consumers.guides.base import Case, Lesson
from mentor_stream import topics
from mentor_stream.stream import Stream
from schemas import Outcome
from tests.builders import a_group, a_query
from tests.consumers.mentor.mentoring import ScriptedGuide, a_hint, mentoring, publish_cases
from tests.streams import everything, until

pytestmark = pytest.mark.anyio


async def test_counts_are_reported(stream: Stream) -> None:
    await publish_cases(stream, 3)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        with anyio.fail_after(10):
            while not [m for m in await everything(stream, topics.METRICS) if m.values.get("hints") == 3]:
                await anyio.sleep(0.1)


async def test_a_mentor_that_is_stopped_tells_what_it_did_since_its_last_report(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("consumers.mentor.REPORT_SECONDS", 1000)
    await publish_cases(stream, 3)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        with anyio.fail_after(30):
            while await stream.lag(topics.COLLAPSED):
                await anyio.sleep(0.02)
    *_, last = await everything(stream, topics.METRICS)
    assert (last.values["hints"], last.values["waiting"], last.values["in_flight"]) == (3, 0, 0)


async def test_when_all_drafts_are_refused_the_log_says_so_once_and_with_the_verdict(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = schemas.AgentCall(agent="judgment", draft=0, refinement=0, result="leak: 12", passed=False)

    async def refused(case: Case) -> Lesson:
        return Lesson(Outcome.FALLBACK, "leak: 12", "Read it again.", (refusal,))

    with caplog.at_level(logging.WARNING, "consumers.mentor"):
        async with mentoring(stream, ScriptedGuide(refused)):
            for position in range(8):
                await stream.publish(topics.COLLAPSED, a_group("WW", query=a_query(position=position)))
            await until(stream, topics.DIAGNOSES, 8)
            with anyio.fail_after(60):
                while "most drafts are refused" not in caplog.text:
                    await anyio.sleep(0.02)
    assert caplog.text.count("most drafts are refused") == 1
    assert "mostly as 'leak'" in caplog.text
