"""What a guide returns or raises, and must not be published, costs its own lesson and is recorded."""

import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import schemas
from consumers.guides.base import Case, Lesson
from mentor_stream import topics
from mentor_stream.stream import Stream, connect
from mentor_stream.topics import TopicsConfig
from schemas import Outcome
from tests.consumers.mentor.mentoring import ScriptedGuide, a_hint, mentoring, publish_cases
from tests.streams import everything, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("hint", "reason"),
    [("It is 5.", "gives the answer away: 5"), ("word " * 100, "exceeds the prompt budget")],
)
async def test_what_a_careless_guide_returns_is_not_published(stream: Stream, hint: str, reason: str) -> None:
    async def careless(_: Case) -> Lesson:
        return Lesson(Outcome.HINT, "sure", hint)

    await publish_cases(stream, 1)
    async with mentoring(stream, ScriptedGuide(careless), max_prompt_tokens=60):
        (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert (diagnosis.outcome, diagnosis.hint) == (Outcome.SILENT, None)
    assert reason in diagnosis.reason
    assert not await everything(stream, topics.GUIDED)


A_CALL = schemas.AgentCall(agent="own", draft=0, refinement=0, result="")
GARBAGE = {
    "NoneType, no Lesson": None,
    "str, no Lesson": "Count on your fingers.",
    "at `$.hint`": Lesson(Outcome.HINT, "", 5),  # type: ignore[arg-type]
    "at `$.calls": Lesson(Outcome.HINT, "", "Count.", (1,)),  # type: ignore[arg-type]
    "at `$.outcome`": Lesson("lesson", "", "Count."),  # type: ignore[arg-type]
    "at `$.reason`": Lesson(Outcome.SILENT, None),  # type: ignore[arg-type]
    "can't serialize ints": Lesson(Outcome.SILENT, "", None, (replace(A_CALL, draft=10**30),)),
    "cost or time is no number": Lesson(Outcome.SILENT, "", None, (replace(A_CALL, cost=float("nan")),)),
    "surrogates not allowed": Lesson(Outcome.HINT, "", "Count \ud800."),
    "with control characters": Lesson(Outcome.HINT, "", "Count \0."),
    "an empty hint": Lesson(Outcome.FALLBACK, "", " \n"),
    "without a hint": Lesson(Outcome.HINT, ""),
    "with a hint": Lesson(Outcome.SILENT, "", "Count."),
    "not a guide's to give": Lesson(Outcome.SHED, ""),
    "a hint of 5000000 characters": Lesson(Outcome.HINT, "", "Count" * 10**6),
    "bytes with its calls": Lesson(Outcome.SILENT, "x" * 2**25),
}


@pytest.mark.parametrize("flaw", GARBAGE)
async def test_a_guide_that_returns_garbage_costs_its_own_lesson_and_says_why(
    stream: Stream, flaw: str
) -> None:
    async def teach(case: Case) -> Any:
        return GARBAGE[flaw] if case.query.position == 0 else await a_hint(case)

    groups = await publish_cases(stream, 2)
    async with mentoring(stream, ScriptedGuide(teach)):
        diagnoses = {d.group_id: d for d in await until(stream, topics.DIAGNOSES, 2)}
    failed = diagnoses[groups[0].group_id]
    assert failed.outcome is Outcome.SILENT
    assert failed.reason.startswith("the guide returned ")
    assert flaw in failed.reason
    assert [query.query_id for query in await everything(stream, topics.GUIDED)] == [
        diagnoses[groups[1].group_id].guided_query_id
    ]


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [ValueError("no \ud800 idea"), Mute()])
async def test_whatever_a_guide_raises_can_be_recorded(
    stream: Stream, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "consumers.teaching")  # a report with that text cannot be sent

    async def teach(_: Case) -> Lesson:
        raise error

    await publish_cases(stream, 1)
    async with mentoring(stream, ScriptedGuide(teach)):
        (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert diagnosis.outcome is Outcome.SILENT
    assert type(error).__name__ in diagnosis.reason


async def test_a_diagnosis_too_large_for_its_topic_is_recorded_without_what_the_calls_said(
    tmp_path: Path,
) -> None:
    call = replace(A_CALL, result="x" * 2**17, prompt_tokens=7)

    async def teach(_: Case) -> Lesson:
        return Lesson(Outcome.HINT, "validated", "Count.", (call,))

    small = TopicsConfig.model_validate({"max_record_bytes": 2**16})
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test", small) as stream:
        await publish_cases(stream, 1)
        async with mentoring(stream, ScriptedGuide(teach)):
            (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert diagnosis.outcome is Outcome.HINT
    assert (diagnosis.calls[0].result, diagnosis.prompt_tokens) == ("", 7)


async def test_a_lesson_too_large_for_its_topic_is_silence(tmp_path: Path) -> None:
    async def teach(_: Case) -> Lesson:
        return Lesson(Outcome.HINT, "validated", "x" * 2**16)

    small = TopicsConfig.model_validate({"max_record_bytes": 2**16})
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test", small) as stream:
        await publish_cases(stream, 1)
        async with mentoring(stream, ScriptedGuide(teach)):
            (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert (diagnosis.outcome, diagnosis.hint) == (Outcome.SILENT, None)
    assert "the lesson: " in diagnosis.reason


async def test_a_guide_that_raises_costs_its_own_lesson_and_says_why(stream: Stream) -> None:
    async def teach(case: Case) -> Lesson:
        if case.query.position == 1:
            raise ValueError("no idea")
        return await a_hint(case)

    groups = await publish_cases(stream, 3)
    async with mentoring(stream, ScriptedGuide(teach)):
        diagnoses = {d.group_id: d for d in await until(stream, topics.DIAGNOSES, 3)}
    failed = diagnoses[groups[1].group_id]
    assert (failed.outcome, failed.reason) == (Outcome.SILENT, "the guide raised ValueError: no idea")
    assert [diagnoses[groups[n].group_id].outcome for n in (0, 2)] == [Outcome.HINT, Outcome.HINT]
    assert len(await everything(stream, topics.GUIDED)) == 2
