"""The mentor on a real stream: many cases at once, duplicates, rounds, and what a guide must not publish."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio import lowlevel
from msgspec.structs import replace

import schemas
from consumers.budget import Budget
from consumers.config import MentorConfig
from consumers.guides.base import Case, Lesson
from consumers.leak.guard import Guard
from consumers.mentor import Mentor
from consumers.teaching import Teacher
from mentor_stream import topics
from mentor_stream.broker.base import Message
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits
from mentor_stream.stream import Stream, connect
from mentor_stream.topics import TopicsConfig
from schemas import Group, Outcome
from tests.builders import a_group, a_query
from tests.streams import everything, until

pytestmark = pytest.mark.anyio


class ScriptedGuide:
    """A guide whose lessons a function makes."""

    name = "scripted"

    def __init__(self, teach: Callable[[Case], Awaitable[Lesson]]) -> None:
        self.cases: list[Case] = []
        self._teach = teach

    async def teach(self, case: Case) -> Lesson:
        self.cases.append(case)
        return await self._teach(case)


async def a_hint(case: Case) -> Lesson:
    return Lesson(Outcome.HINT, "validated", f"Hint of round {'I' * case.round}")


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        yield stream


@asynccontextmanager
async def mentoring(
    stream: Stream, guide: ScriptedGuide, config: MentorConfig | None = None, *, max_prompt_tokens: int = 1000
) -> AsyncGenerator[None]:
    """A mentor at work on the stream."""
    limits = LengthLimits(prompt=max_prompt_tokens, completion=8, context=None)
    budget = Budget(PromptConfig(), limits, lambda text: len(text.split()))
    mentor = Mentor(config or MentorConfig(), stream, Teacher(guide, Guard("text"), budget))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mentor.run)
        yield
        tasks.cancel_scope.cancel()


def question(number: int) -> schemas.Query:
    return a_query(f"What is 2 + {number + 3}?", str(number + 5), position=number)


async def publish_cases(stream: Stream, count: int, *, version: int = 0) -> list[Group]:
    groups = [a_group("WWWW", query=question(n), version=version) for n in range(count)]
    for group in groups:
        await stream.publish(topics.COLLAPSED, group)
    return groups


async def release(stream: Stream, version: int) -> None:
    await stream.publish(
        topics.POLICIES,
        schemas.PolicyRelease(
            policy_version=version,
            step=version,
            uri="x",
            digest="x",
            consumed=schemas.Consumed(),
            published_at=0.0,
        ),
    )


async def test_every_case_becomes_a_lesson_and_a_diagnosis(stream: Stream) -> None:
    groups = await publish_cases(stream, 20)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        diagnoses = await until(stream, topics.DIAGNOSES, 20)
        guided = await until(stream, topics.GUIDED, 20)
    assert {d.group_id for d in diagnoses} == {g.group_id for g in groups}
    assert {d.guided_query_id for d in diagnoses} == {q.query_id for q in guided}
    assert {q.hint.group_id for q in guided if q.hint} == {g.group_id for g in groups}


async def test_as_many_cases_as_allowed_are_in_flight_and_no_more(stream: Stream) -> None:
    working = most = 0
    gate = anyio.Event()

    async def wait(case: Case) -> Lesson:
        nonlocal working, most
        working += 1
        most = max(most, working)
        if working == 8:
            gate.set()
        await gate.wait()
        await anyio.sleep(0.01)
        working -= 1
        return await a_hint(case)

    await publish_cases(stream, 40)
    async with mentoring(stream, ScriptedGuide(wait), MentorConfig(concurrency=8)):
        await until(stream, topics.DIAGNOSES, 40)
    assert most == 8


async def test_a_case_still_in_work_comes_again_and_a_finished_one_does_not(stream: Stream) -> None:
    groups = await publish_cases(stream, 6)
    stuck = groups[2].group_id

    async def one_hangs(case: Case) -> Lesson:
        if case.group.group_id == stuck:
            await anyio.sleep_forever()
        return await a_hint(case)

    async with mentoring(stream, ScriptedGuide(one_hangs)):
        await until(stream, topics.DIAGNOSES, 5)
    again = ScriptedGuide(a_hint)
    async with mentoring(stream, again):
        await until(stream, topics.DIAGNOSES, 6)
        with anyio.fail_after(10):
            while await stream.lag(topics.COLLAPSED):
                await anyio.sleep(0.05)
    assert stuck in {case.group.group_id for case in again.cases}
    guided = await everything(stream, topics.GUIDED)
    assert {q.hint.group_id for q in guided if q.hint} == {g.group_id for g in groups}


async def test_a_case_delivered_twice_is_one_lesson_by_its_id(stream: Stream) -> None:
    (group,) = await publish_cases(stream, 1)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        await until(stream, topics.DIAGNOSES, 1)
        await stream.publish(topics.COLLAPSED, group)
        await until(stream, topics.DIAGNOSES, 2)
    assert len({q.query_id for q in await everything(stream, topics.GUIDED)}) == 1


async def test_a_case_of_an_old_policy_is_skipped_and_said_to_be(stream: Stream) -> None:
    await publish_cases(stream, 1, version=1)
    await release(stream, 6)
    guide = ScriptedGuide(a_hint)
    async with mentoring(stream, guide):
        (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert (diagnosis.outcome, diagnosis.guided_query_id) == (Outcome.STALE, None)
    assert not guide.cases


async def test_the_version_released_last_counts_while_the_mentor_runs(stream: Stream) -> None:
    await release(stream, 9)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        await publish_cases(stream, 1, version=1)
        await until(stream, topics.DIAGNOSES, 1)
        await release(stream, 2)  # the trainer fell back to a checkpoint
        with anyio.fail_after(10):
            while not [m for m in await everything(stream, topics.METRICS) if m.policy_version == 2]:
                await anyio.sleep(0.05)
        await stream.publish(topics.COLLAPSED, a_group("WW", query=question(5), version=1))
        diagnoses = await until(stream, topics.DIAGNOSES, 2)
    assert sorted(d.outcome.value for d in diagnoses) == ["hint", "stale"]


async def test_a_backlog_teaches_the_newest_and_sheds_the_oldest_and_says_so(stream: Stream) -> None:
    busy, gate = anyio.Event(), anyio.Event()

    async def wait(case: Case) -> Lesson:
        busy.set()
        await gate.wait()
        return await a_hint(case)

    await publish_cases(stream, 1)
    guide, config = ScriptedGuide(wait), MentorConfig(concurrency=1, max_backlog=2)
    async with mentoring(stream, guide, config):
        await busy.wait()
        for number in range(1, 6):
            await stream.publish(topics.COLLAPSED, a_group("WW", query=question(number), version=number))
        shed = await until(stream, topics.DIAGNOSES, 3)
        gate.set()
        diagnoses = await until(stream, topics.DIAGNOSES, 6)
        with anyio.fail_after(10):
            while not [m for m in await everything(stream, topics.METRICS) if m.values.get("shed") == 3]:
                await anyio.sleep(0.05)
    assert sorted(d.policy_version for d in shed) == [1, 2, 3]
    assert {d.outcome for d in shed} == {Outcome.SHED}
    assert [case.query.position for case in guide.cases] == [0, 5, 4]
    assert len(diagnoses) == len({d.group_id for d in diagnoses}) == 6


async def test_a_case_that_waits_gives_way_to_a_newer_one_of_its_question(stream: Stream) -> None:
    busy, gate = anyio.Event(), anyio.Event()

    async def wait(case: Case) -> Lesson:
        busy.set()
        await gate.wait()
        return await a_hint(case)

    first, asked = await publish_cases(stream, 1), question(1)
    guide = ScriptedGuide(wait)
    async with mentoring(stream, guide, MentorConfig(concurrency=1)):
        await busy.wait()
        old, new = (
            a_group("WW", query=msgspec.structs.replace(asked, attempt=epoch), version=epoch)
            for epoch in range(2)
        )
        await stream.publish(topics.COLLAPSED, old)
        await stream.publish(topics.COLLAPSED, new)
        (superseded,) = await until(stream, topics.DIAGNOSES, 1)
        gate.set()
        await until(stream, topics.DIAGNOSES, 3)
        with anyio.fail_after(10):
            while await stream.lag(topics.COLLAPSED):
                await anyio.sleep(0.05)
    assert (superseded.group_id, superseded.outcome) == (old.group_id, Outcome.SUPERSEDED)
    assert [case.group.group_id for case in guide.cases] == [first[0].group_id, new.group_id]


async def test_an_unlimited_backlog_teaches_every_case_in_its_order(stream: Stream) -> None:
    guide = ScriptedGuide(a_hint)
    for version in (3, 1, 2, 5, 4):
        await stream.publish(topics.COLLAPSED, a_group("WW", query=question(version), version=version))
    async with mentoring(stream, guide, MentorConfig(concurrency=1, max_backlog="unlimited")):
        await until(stream, topics.DIAGNOSES, 5)
    place = {m.key: (m.partition, m.offset) for m in await messages(stream)}
    taught = [place[case.group.group_id.encode()] for case in guide.cases]
    for partition in {partition for partition, _ in taught}:
        offsets = [offset for of, offset in taught if of == partition]
        assert offsets == sorted(offsets)


async def messages(stream: Stream) -> list[Message]:
    async with stream.reader(topics.COLLAPSED, start="earliest", follow=False) as deliveries:
        return [delivery.message async for delivery in deliveries]


async def test_unlimited_age_keeps_every_case(stream: Stream) -> None:
    await publish_cases(stream, 1, version=1)
    await release(stream, 600)
    async with mentoring(stream, ScriptedGuide(a_hint), MentorConfig(max_case_age="unlimited")):
        (diagnosis,) = await until(stream, topics.DIAGNOSES, 1)
    assert diagnosis.outcome is Outcome.HINT


async def test_a_lesson_that_collapses_is_taught_again_with_its_hints_in_view(stream: Stream) -> None:
    guide = ScriptedGuide(a_hint)
    await publish_cases(stream, 1)
    async with mentoring(stream, guide, MentorConfig(max_rounds=2)):
        (first,) = await until(stream, topics.GUIDED, 1)
        await stream.publish(topics.COLLAPSED, a_group("WW", query=first))
        (second,) = [q for q in await until(stream, topics.GUIDED, 2) if q.query_id != first.query_id]
        await stream.publish(topics.COLLAPSED, a_group("WW", query=second))
        diagnoses = await until(stream, topics.DIAGNOSES, 3)
    assert [(c.round, c.earlier) for c in guide.cases] == [(1, ()), (2, ("Hint of round I",))]
    assert sorted(d.outcome.value for d in diagnoses) == ["exhausted", "hint", "hint"]
    assert next(d.round for d in diagnoses if d.outcome is Outcome.EXHAUSTED) == 3


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


async def test_counts_are_reported(stream: Stream) -> None:
    await publish_cases(stream, 3)
    async with mentoring(stream, ScriptedGuide(a_hint)):
        with anyio.fail_after(10):
            while not [m for m in await everything(stream, topics.METRICS) if m.values.get("hints") == 3]:
                await anyio.sleep(0.1)


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
    assert caplog.text.count("most drafts are refused") == 1
    assert "mostly as 'leak'" in caplog.text
