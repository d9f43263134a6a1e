"""Dead letters as an operator meets them: listed and shown."""

import json
from base64 import b64decode
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.commands.dead_letters import letters
from mentor_stream.stream import Stream
from tests.commands.dead_letters.burying import HOSTILE, NAMED, NEWER, bury, prepare
from tests.runs import as_json, mentor_stream, url, write_config


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


async def _make_stream(url: str) -> None:
    async with brokers.connect(url):
        pass


@pytest.mark.anyio
async def test_letters_of_a_run_that_has_no_topics_name_the_command_that_makes_them(tmp_path: Path) -> None:
    async with brokers.connect(url(tmp_path)) as broker:
        for since in (None, 0.0):
            with pytest.raises(brokers.UnknownTopic, match="topics create"):
                await letters.find(broker, "run", since=since)
        with pytest.raises(brokers.UnknownTopic, match="topics create"):
            await letters.get(broker, "run", 0)


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


@pytest.mark.anyio
async def test_letters_are_found_without_holding_all_their_bytes(run: Stream) -> None:
    await bury(run, topics.QUERIES, HOSTILE)
    (letter,) = await letters.find(run.broker, "run")
    assert letter.held
    assert (letter.size, letter.held.value) == (len(HOSTILE), b"")
