"""Dead letters as an operator meets them: listed, shown, put back."""

import json
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import anyio
import msgspec
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.commands.dead_letters import letters
from mentor_stream.commands.dead_letters.dismiss import Dismissal, dismiss
from mentor_stream.commands.dead_letters.letters import Letter
from mentor_stream.commands.dead_letters.marks import DISMISSED, REQUEUED, Mark
from mentor_stream.commands.dead_letters.requeue import REQUEUED_FROM, refusal, requeue
from mentor_stream.stream import Stream
from tests.builders import a_group, a_query
from tests.runs import Done, as_json, mentor_stream, url, write_config

NEWER = msgspec.msgpack.encode(
    msgspec.msgpack.decode(schemas.encode(a_query())) | {"version": 99, "mood": "\x1b[31msunny"}
)
HOSTILE = b"\x1b]0;owned\x07\x00\xff"
NAMED = msgspec.msgpack.encode({"schema": "\x1b[31mred\n", "version": 1})
"""The reason why it is refused quotes it."""


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Stream]:
    async with stream.connect(url(tmp_path), "run", "rollout") as connected:
        yield connected


async def bury(run: Stream, topic: topics.Topic, *values: bytes) -> None:
    """Let a component meet these bytes on a topic."""
    async with run.broker.producer() as producer:
        for value in values:
            await producer.send(run.name(topic), b"key", value)
    async with run.reader(topic, start="earliest", follow=False) as found:
        async for _ in found:
            pass


def prepare(directory: Path, *values: bytes, run: str = "run") -> str:
    """A run with these values refused on its queries; its config."""

    async def main() -> None:
        async with stream.connect(url(directory), run, "rollout") as connected:
            await bury(connected, topics.QUERIES, *values)

    anyio.run(main, backend="trio")
    return write_config(directory, name=run)


def test_letters_are_listed_oldest_first_with_where_who_and_why(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    lines = mentor_stream("dead-letters", "list", config, "--json").stdout.splitlines()
    first, second = map(json.loads, lines)
    assert (first["place"], first["topic"], first["source"]) == (0, "run.queries", "rollout")
    assert first["bytes"] == len(HOSTILE)
    assert first["error"].startswith("ForeignRecord")
    assert second["error"].startswith("NewerRecord")
    assert second["whole"] is True
    assert second["requeued"] is None
    table = mentor_stream("dead-letters", "list", config).stdout.splitlines()
    assert table[0].split() == ["place", "when", "where", "refused", "by", "size", "state", "why"]
    assert "NewerRecord" in table[2]


def test_letters_are_listed_by_time_topic_and_source(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE)

    def listed(*filters: str) -> list[str]:
        done = mentor_stream("dead-letters", "list", config, "--json", *filters)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert len(listed("--since", "1h", "--topic", "queries", "--source", "rollout")) == 1
    assert len(listed("--topic", "run.queries")) == 1
    assert listed("--since", "2100-01-01") == []
    assert listed("--topic", "groups") == []
    assert listed("--source", "trainer") == []


@pytest.mark.parametrize(
    ("filters", "complaint"),
    [(("--since", "soon"), "expected 90s, 30m"), (("--topic", "quarries"), "known are queries, guided")],
)
def test_a_filter_that_means_nothing_is_named(tmp_path: Path, filters: list[str], complaint: str) -> None:
    done = mentor_stream("dead-letters", "list", write_config(tmp_path), *filters)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_without_topics_has_no_letters_to_list(tmp_path: Path) -> None:
    anyio.run(_make_stream, url(tmp_path), backend="trio")
    done = mentor_stream("dead-letters", "list", write_config(tmp_path))
    assert done.returncode == 2
    assert "run.dead-letters" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_letter_is_shown_with_its_record_and_nothing_in_it_reaches_the_terminal(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER, NAMED)
    shown = mentor_stream("dead-letters", "show", config, "1").stdout
    assert "NewerRecord: record query: version 99" in shown
    assert '"question": "What is 2 + 3?"' in shown
    assert '"mood": "\\u001b[31msunny"' in shown
    foreign = mentor_stream("dead-letters", "show", config, "0").stdout
    assert "1b 5d 30 3b" in foreign
    named = mentor_stream("dead-letters", "show", config, "2").stdout
    assert r"record \x1b[31mred\n: expected a record query" in named
    listed = mentor_stream("dead-letters", "list", config).stdout
    assert len(listed.splitlines()) == 4
    assert not {"\x1b", "\x07", "\x00"} & set(shown + foreign + named + listed)


def test_a_letter_as_json_holds_all_its_bytes(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    newer, foreign = (as_json("dead-letters", "show", config, place) for place in "10")
    assert (b64decode(newer["value"]), b64decode(newer["key"])) == (NEWER, b"key")
    assert newer["record"]["mood"] == "\x1b[31msunny"
    assert newer["unreadable"].startswith("NewerRecord")
    assert b64decode(foreign["value"]) == HOSTILE
    assert foreign["record"] is None


def test_a_letter_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = mentor_stream("dead-letters", "show", prepare(tmp_path, HOSTILE), "7")
    assert done.returncode == 2
    assert done.stderr.startswith("mentor-stream: run.dead-letters has no dead letter 7")


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


def test_a_dismissed_letter_stays_and_is_requeued_by_force_only(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    assert mentor_stream("dead-letters", "requeue", config, "--all").returncode == 1
    done = mentor_stream("dead-letters", "dismiss", config, "0", "1")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["letter 0 dismissed", "letter 1 dismissed"])
    assert as_json("dead-letters", "requeue", config, "--all")["letters"] == []
    listed = [json.loads(line) for line in lines(mentor_stream("dead-letters", "list", config, "--json"))]
    assert [(one["place"], one["dismissed"] is not None, one["requeued"]) for one in listed] == [
        (0, True, None),
        (1, True, None),
    ]
    assert ["state", "dismissed"] in map(str.split, lines(mentor_stream("dead-letters", "show", config, "1")))
    (refused,) = as_json("dead-letters", "requeue", config, "1", code=1)["letters"]
    assert refused["refusal"] == "it was dismissed; --force requeues it all the same"
    (forced,) = as_json("dead-letters", "requeue", config, "1", "--force")["letters"]
    assert forced["requeued"] is True
    (late,) = as_json("dead-letters", "dismiss", config, "1", code=1)["letters"]
    assert late == {"place": 1, "dismissed": False, "reason": f"it was requeued, to {place_of(forced)}"}


def place_of(requeued: dict[str, object]) -> str:
    return "/".join(str(requeued[part]) for part in ("topic", "partition", "offset"))


def lines(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_requeue_refuses_is_named_before_it_is_dismissed(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    readable = a_letter().held
    assert readable
    anyio.run(publish, url(tmp_path), readable, backend="trio")
    choice = ("dead-letters", "dismiss", config, "--unrequeueable")
    named = as_json(*choice, code=1)["letters"]
    assert [(one["place"], one["dismissed"]) for one in named] == [(0, False), (1, False)]
    assert all(
        one["reason"].startswith("--yes dismisses it; requeue refuses it: it would come straight back")
        for one in named
    )
    assert as_json(*choice, "--topic", "groups")["letters"] == []
    listed = lines(mentor_stream("dead-letters", "list", config, "--json"))
    assert [json.loads(line)["dismissed"] for line in listed] == [None, None, None]
    done = mentor_stream(*choice, "--yes", "--topic", "queries")
    assert done.returncode == 0
    assert "letter 1 dismissed: requeue refuses it: it would come straight back" in done.stdout
    assert mentor_stream(*choice).stdout == "no dead letters to dismiss\n"
    (left,) = as_json("dead-letters", "requeue", config, "--all")["letters"]
    assert left["place"] == 2


async def publish(url: str, held: schemas.DeadLetter) -> None:
    async with stream.connect(url, "run", "rollout") as run:
        await run.publish(topics.DEAD_LETTERS, held)


@pytest.mark.parametrize(
    "choice", [(), ("0", "--unrequeueable"), ("0", "--yes"), ("0", "--topic", "queries")]
)
def test_dismiss_wants_letters_or_those_that_cannot_go_back(tmp_path: Path, choice: list[str]) -> None:
    done = mentor_stream("dead-letters", "dismiss", write_config(tmp_path), *choice)
    assert done.returncode == 2
    assert "name letters, or --unrequeueable" in done.stderr


@pytest.mark.anyio
async def test_a_letter_is_dismissed_once_and_one_that_cannot_be_read_too(run: Stream) -> None:
    async with run.broker.producer() as producer:
        await producer.send("run.dead-letters", b"", b"poison")
    for _ in range(2):
        assert await dismiss(run.broker, "run", await letters.find(run.broker, "run")) == [Dismissal(0, True)]
    async with run.reader(topics.DEAD_LETTERS, start={letters.home("run"): 1}, follow=False) as found:
        records = [delivery.record async for delivery in found]
    assert [(record.source, record.error) for record in records] == [("operator", "letter 0 was dismissed")]


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
async def test_letters_are_found_without_holding_all_their_bytes(run: Stream) -> None:
    await bury(run, topics.QUERIES, HOSTILE)
    (letter,) = await letters.find(run.broker, "run")
    assert letter.held
    assert (letter.size, letter.held.value) == (len(HOSTILE), b"")


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


async def _make_stream(url: str) -> None:
    async with brokers.connect(url):
        pass


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


def a_letter(topic: str = "run.queries", value: bytes | None = None, **changes: object) -> Letter:
    """One that may be requeued, unless changed."""
    held = schemas.DeadLetter(
        source="rollout",
        topic=topic,
        partition=0,
        offset=3,
        error="NewerRecord",
        key=b"key",
        value=schemas.encode(a_query()) if value is None else value,
        time=1.0,
    )
    return Letter(0, 1.0, len(held.value), msgspec.structs.replace(held, **changes), held.error)


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


@pytest.mark.anyio
async def test_letters_of_a_run_that_has_no_topics_name_the_command_that_makes_them(tmp_path: Path) -> None:
    async with brokers.connect(url(tmp_path)) as broker:
        for since in (None, 0.0):
            with pytest.raises(brokers.UnknownTopic, match="topics create"):
                await letters.find(broker, "run", since=since)
        with pytest.raises(brokers.UnknownTopic, match="topics create"):
            await letters.get(broker, "run", 0)
