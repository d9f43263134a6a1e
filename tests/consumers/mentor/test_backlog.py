"""More cases than a mentor can teach: which are taught, in which order, and what is said of the others."""

import anyio
import msgspec
import pytest

from consumers.config import MentorConfig
from consumers.guides.base import Case, Lesson
from mentor_stream import topics
from mentor_stream.broker.base import Message
from mentor_stream.stream import Stream
from schemas import Outcome
from tests.builders import a_group
from tests.consumers.mentor.mentoring import ScriptedGuide, a_hint, mentoring, publish_cases, question
from tests.streams import everything, until

pytestmark = pytest.mark.anyio


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
