"""Dead letters that are put back on their topics: which may be, and that it is once."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.commands.dead_letters import letters
from mentor_stream.commands.dead_letters.letters import Letter
from mentor_stream.commands.dead_letters.marks import Mark
from mentor_stream.commands.dead_letters.requeue import REQUEUED_FROM, refusal, requeue
from mentor_stream.stream import Stream
from tests.builders import a_group, a_query
from tests.commands.dead_letters.burying import HOSTILE, NEWER, a_letter, bury, prepare
from tests.runs import as_json, mentor_stream, url, write_config


def test_requeue_says_what_it_did_and_does_it_once(tmp_path: Path) -> None:
    config = prepare(tmp_path, NEWER)
    refused = as_json("dead-letters", "requeue", config, "0", "5", code=1)["letters"]
    assert {one["place"]: one["refusal"].partition(" (")[0] for one in refused} == {
        0: "it would come straight back",
        5: "there is no such letter",
    }
    (done,) = as_json("dead-letters", "requeue", config, "0", "--force")["letters"]
    assert (done["requeued"], done["topic"], done["offset"]) == (True, "run.queries", 1)
    assert as_json("dead-letters", "requeue", config, "--all")["letters"] == []
    again = mentor_stream("dead-letters", "requeue", config, "0")
    assert again.returncode == 1
    assert "letter 0 refused: it was requeued already, to run.queries/" in again.stdout
    (listed,) = mentor_stream("dead-letters", "list", config, "--json").stdout.splitlines()
    assert json.loads(listed)["requeued"]["to"] == f"run.queries/{done['partition']}/1"
    assert "requeued to run.queries/" in mentor_stream("dead-letters", "show", config, "0").stdout


@pytest.mark.parametrize("choice", [(), ("0", "--all"), ("0", "--topic", "queries")])
def test_requeue_wants_letters_or_all_of_them(tmp_path: Path, choice: list[str]) -> None:
    done = mentor_stream("dead-letters", "requeue", write_config(tmp_path), *choice)
    assert done.returncode == 2
    assert "name letters, or --all" in done.stderr


@pytest.mark.anyio
async def test_a_requeued_record_comes_out_under_its_key_and_says_where_it_was(run: Stream) -> None:
    whole = schemas.encode(a_query())
    await bury(run, topics.QUERIES, whole[:-3])
    held = (await letters.get(run.broker, "run", 0)).held
    assert held
    # As if an older program had refused what this one reads.
    await run.publish(topics.DEAD_LETTERS, msgspec.structs.replace(held, value=whole))
    (letter,) = [one for one in await letters.find(run.broker, "run") if one.place == 1]
    (outcome,) = await requeue(run.broker, "run", [letter], force=False)
    assert outcome.to
    async with run.reader(topics.QUERIES, start="earliest", follow=False) as queries:
        (delivery,) = [d async for d in queries]
    assert delivery.record == a_query()
    assert delivery.message.key == b"key"
    assert delivery.message.headers == ((REQUEUED_FROM, b"run.dead-letters/0/1"),)
    assert delivery.message.offset == outcome.to.offset


@pytest.mark.anyio
async def test_reading_letters_adds_none_even_when_one_is_poison_itself(run: Stream) -> None:
    async with run.broker.producer() as producer:
        await producer.send("run.dead-letters", b"", b"poison")
    for _ in range(2):
        (letter,) = await letters.find(run.broker, "run")
    assert letter.held is None
    assert (await letters.get(run.broker, "run", 0)).raw == b"poison"
    (outcome,) = await requeue(run.broker, "run", [letter], force=True)
    assert "it cannot be read itself" in outcome.refusal


@pytest.mark.anyio
async def test_a_record_too_large_for_its_topic_is_refused_and_the_others_go_back(tmp_path: Path) -> None:
    async with brokers.connect(url(tmp_path)) as broker:
        await broker.create_topics([brokers.TopicSpec("run.queries", max_message_bytes=20)])
        async with stream.connect(url(tmp_path), "run", "rollout") as run:
            await bury(run, topics.QUERIES, b"small", b"little")
            large = msgspec.structs.replace((await letters.get(broker, "run", 0)).held, value=bytes(21))
            await run.publish(topics.DEAD_LETTERS, large)
            outcomes = await requeue(broker, "run", await letters.find(broker, "run"), force=True)
    assert [outcome.to is not None for outcome in outcomes] == [True, True, False]
    assert "a message of 21 bytes, 20 allowed" in outcomes[2].refusal


MARK = Mark(2.0, "run.queries/0/9")


@pytest.mark.parametrize(
    ("letter", "reason", "forced"),
    [
        (a_letter(), "", True),
        (a_letter("run.groups", schemas.encode(a_group())), "", True),
        (a_letter(value=HOSTILE), "it would come straight back (ForeignRecord", True),
        (a_letter("run.groups"), "it would come straight back (ForeignRecord", True),
        (replace(a_letter(), requeued=MARK), "requeued already, to run.queries/0/9", True),
        (replace(a_letter(), dismissed=Mark(2.0)), "it was dismissed; --force", True),
        (a_letter("run.policies"), "readers of run.policies rely on it", True),
        (a_letter("run.dead-letters"), "readers of run.dead-letters rely on it", True),
        (a_letter(whole=False), "only a part of the record was kept", False),
        (a_letter("other.queries"), "other.queries is no topic of run 'run'", False),
        (a_letter("run.run.queries"), "run.run.queries is no topic of run 'run'", False),
        (a_letter("queries"), "queries is no topic of run 'run'", False),
        (Letter(0, 1.0, 3, None, "why"), "it cannot be read itself (why)", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_go_back_and_what_force_allows(letter: Letter, reason: str, forced: bool) -> None:
    told = refusal(letter, "run", force=False)
    assert reason in told
    assert bool(told) == bool(reason)
    assert (refusal(letter, "run", force=True) == "") == forced
