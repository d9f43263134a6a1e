"""Why no group comes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mentor_stream import telemetry, topics
from mentor_stream.stream import Stream, connect
from schemas import Consumed
from tests.builders import a_group, a_guided_query, a_query
from trainer.intake.preparation import Standing
from trainer.intake.starvation import Situation, arrived, situation

NOW, LONG_AGO = 1.0, 300.0


def found(
    plain: int, guided: int, cases: int, rollout: float | None, mentor: float | None, fed: int = 9
) -> Situation:
    return Situation(fed=fed, plain=plain, guided=guided, cases=cases, rollout=rollout, mentor=mentor)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (found(0, 0, 0, NOW, NOW, fed=0), "no question was put on the stream yet: the feeder does not run"),
        (found(0, 0, 0, None, None, fed=0), "no question was put on the stream yet"),
        (found(7, 2, 0, None, None), "no rollout worker is at work (none was heard of): 9 questions wait"),
        (found(7, 0, 3, LONG_AGO, NOW), "no rollout worker is at work (the last one 300 s ago)"),
        (found(7, 2, 3, NOW, None), "rollout workers are at it: 7 plain and 2 guided questions"),
        (found(0, 0, 0, NOW, NOW), "the feeder puts out no more: it is at its limit"),
        (found(0, 0, 4, NOW, NOW), "4 collapsed groups wait for hints"),
        (found(0, 0, 4, NOW, None), "wait for hints (no mentor is at work)"),
    ],
)
def test_the_likeliest_reason_is_named(found: Situation, words: str) -> None:
    assert words in found.reason


def test_a_mentor_at_work_is_not_called_absent() -> None:
    assert "no mentor" not in found(0, 0, 4, NOW, NOW).reason


@pytest.mark.parametrize(
    ("came", "waiting", "words"),
    [
        (Consumed(resolved=90, collapsed=80, guided=20, rescued=2), 7, "89 % of the plain groups have no"),
        (Consumed(resolved=90, collapsed=80, guided=20, rescued=2), 7, "lessons rescue 10 %"),
        (Consumed(resolved=90, collapsed=80), 7, "no lessons come"),
        (Consumed(resolved=90, collapsed=4), 7, "In most of them all answers are right"),
        (Consumed(resolved=9, collapsed=4), 6, "Sampling is slower than training"),
    ],
)  # fmt: skip
def test_of_groups_that_come_it_is_said_why_they_fill_no_batch(
    came: Consumed, waiting: int, words: str
) -> None:
    assert words in arrived(Standing(), Standing(consumed=came, waiting=waiting)).words


def test_only_what_came_since_counts() -> None:
    before = Standing(consumed=Consumed(resolved=90, collapsed=80))
    assert arrived(before, Standing(consumed=Consumed(resolved=93, collapsed=80))).words.startswith(
        "3 plain groups came, 0 of them without"
    )


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db", "run", "trainer") as stream:
        yield stream


@pytest.mark.anyio
async def test_the_situation_is_read_from_the_stream(stream: Stream) -> None:
    empty = await situation(stream)
    assert empty == Situation(fed=0, plain=0, guided=0, cases=0, rollout=None, mentor=None)
    for number in range(3):
        await stream.publish(topics.QUERIES, a_query(position=number))
    await stream.publish(topics.GUIDED, a_guided_query())
    await stream.publish(topics.COLLAPSED, a_group("WW"))
    stream.component = "rollout"
    await telemetry.report(stream, {"tokens": 1.0})
    stream.component = "trainer"
    await telemetry.report(stream, {"step": 1.0})
    now = await situation(stream)
    assert (now.fed, now.plain, now.guided, now.cases, now.mentor) == (3, 3, 1, 1, None)
    assert now.rollout is not None
    assert 0 <= now.rollout < 10


@pytest.mark.anyio
async def test_a_metric_that_is_no_record_does_not_hide_the_others(stream: Stream) -> None:
    async with stream.broker.producer() as producer:
        await producer.send(stream.name(topics.METRICS), b"x", b"no record")
    stream.component = "rollout"
    await telemetry.report(stream, {"tokens": 1.0})
    assert (await situation(stream)).rollout is not None
