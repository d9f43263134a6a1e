"""What is done with a letter is marked on the stream itself, on either engine."""

import time
from uuid import uuid4

import pytest

from mentor_stream import stream, topics
from mentor_stream.commands.dead_letters import letters
from mentor_stream.commands.dead_letters.dismiss import Dismissal, dismiss
from mentor_stream.commands.dead_letters.marks import DISMISSED, REQUEUED
from mentor_stream.commands.dead_letters.requeue import REQUEUED_FROM, requeue
from mentor_stream.stream import Stream
from tests.commands.dead_letters.burying import HOSTILE, NEWER, bury


@pytest.mark.anyio
async def test_letters_and_marks_are_the_same_on_kafka(kafka: str) -> None:
    name = f"run-{uuid4().hex[:8]}"
    async with stream.connect(f"kafka://{kafka}", name, "rollout") as run:
        await bury(run, topics.QUERIES, HOSTILE, NEWER)
        for force, done in ((False, False), (True, True), (False, False)):
            found = await letters.find(run.broker, name)
            outcomes = await requeue(run.broker, name, found, force=force)
            assert [outcome.to is not None for outcome in outcomes] == [done, done]
        newest = await letters.get(run.broker, name, 1)
        assert [letter.place for letter in await letters.find(run.broker, name, since=newest.time)][-1] == 1
        assert await letters.find(run.broker, name, since=time.time() + 3600) == []
        with pytest.raises(letters.NoLetter):
            await letters.get(run.broker, name, 99)
        start = await run.offsets(topics.QUERIES, "earliest")
        async with run.broker.reader(start, follow=False) as messages:
            headers = [(message.value, message.headers) async for message in messages]
        await bury(run, topics.GROUPS, HOSTILE)
        left = [one for one in await letters.find(run.broker, name) if not one.settled]
        assert await dismiss(run.broker, name, left) == [Dismissal(4, True)]
        assert (await letters.get(run.broker, name, 4)).dismissed
    assert newest.requeued
    assert newest.requeued.to.startswith(f"{name}.queries/")
    assert (NEWER, ((REQUEUED_FROM, f"{name}.dead-letters/0/1".encode()),)) in headers


@pytest.mark.anyio
async def test_a_mark_is_a_letter_that_any_reader_understands(run: Stream) -> None:
    await bury(run, topics.QUERIES, HOSTILE)
    await requeue(run.broker, "run", await letters.find(run.broker, "run"), force=True)
    async with run.reader(topics.DEAD_LETTERS, start="earliest", follow=False) as found:
        records = [delivery.record async for delivery in found]
    assert [record.source for record in records] == ["rollout", "operator"]
    assert records[1].error.startswith("letter 0 was requeued to run.queries/")


@pytest.mark.anyio
async def test_a_letter_under_our_header_is_no_mark(run: Stream) -> None:
    await bury(run, topics.QUERIES, b"one", b"two")
    async with run.broker.producer() as producer:
        await producer.send(
            run.name(topics.DEAD_LETTERS), b"key", b"junk", [(REQUEUED, b"0"), (DISMISSED, b"1")]
        )
    found = await letters.find(run.broker, "run")
    assert [letter.place for letter in found] == [0, 1, 2]
    assert not any(letter.settled for letter in found)
