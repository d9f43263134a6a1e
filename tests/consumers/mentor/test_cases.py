"""Every case becomes one lesson: many at once, again after a stop, in rounds, unless its policy is old."""

import anyio
import pytest

import schemas
from consumers.config import MentorConfig
from consumers.guides.base import Case, Lesson
from mentor_stream import topics
from mentor_stream.stream import Stream
from schemas import Outcome
from tests.builders import a_group
from tests.consumers.mentor.mentoring import ScriptedGuide, a_hint, mentoring, publish_cases, question
from tests.streams import everything, until

pytestmark = pytest.mark.anyio


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
