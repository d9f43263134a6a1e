"""Which part of a run is exported: by topic, by time, and what retention has left of it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mentor_stream import topics
from mentor_stream.broker import TopicSpec
from tests.consumers.archive.conftest import CASES, Recorded, on
from tests.runs import as_json, mentor_stream, write_config


def test_a_moment_cuts_the_copy_where_it_would_cut_the_run(recorded: Recorded, tmp_path: Path):
    queries = [row for row in recorded.messages()["queries"] if len(row) == 6]
    moment = sorted(row[2] for row in queries)[CASES // 2]
    whole = as_json("export", recorded.config, str(tmp_path / "whole.db"))
    text = datetime.fromtimestamp(moment, UTC).isoformat()
    moment = datetime.fromisoformat(text).timestamp()  # to the microsecond
    after = as_json("export", recorded.config, str(tmp_path / "after.db"), "--since", text)
    before = as_json("export", recorded.config, str(tmp_path / "before.parquet"), "--until", text)
    for total, one, other in zip(whole["topics"], before["topics"], after["topics"], strict=True):
        assert one["messages"] + other["messages"] == total["messages"]
        for number, (first, end) in total["partitions"].items():
            assert (one["partitions"][number][0], other["partitions"][number][1]) == (first, end)
            assert one["partitions"][number][1] <= other["partitions"][number][0]
    assert 0 < after["messages"] < whole["messages"]
    # what is looked up in the copy of a part is at the offset that it had
    kept = [row for row in recorded.messages(f"sqlite:///{tmp_path}/after.db")["queries"] if len(row) == 6]
    assert kept == [row for row in queries if row[2] >= moment]


def test_a_span_of_time_that_ends_before_it_begins_is_refused_by_name(recorded: Recorded, tmp_path: Path):
    for given, told in {
        ("--since", "1m", "--until", "2h"): "--since 1m is later than --until 2h",
        ("--until", "5x"): "--until 5x: expected",
    }.items():
        done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"), *given)
        assert done.returncode == 2
        assert told in done.stderr


def test_of_a_range_without_messages_it_is_said_that_the_archive_is_empty(recorded: Recorded, tmp_path: Path):
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"), "--since", "2099-01-01")
    assert (done.returncode, "the archive is empty" in done.stdout) == (0, True)
    whole = mentor_stream("export", recorded.config, str(tmp_path / "b.parquet"))
    assert "is empty" not in whole.stdout


def test_topics_are_chosen_and_those_that_are_not_there_are_named(recorded: Recorded, tmp_path: Path):
    found = as_json("export", recorded.config, str(tmp_path / "a.parquet"), "--topics", "groups, collapsed")
    assert [topic["topic"] for topic in found["topics"]] == ["groups", "collapsed"]
    as_json("import", str(tmp_path / "a.parquet"), str(tmp_path / "part.db"))
    copy = recorded.copy(tmp_path / "part.db")
    assert as_json("export", copy, str(tmp_path / "b.parquet"))["absent"] == [
        t.name for t in topics.ALL if t.name not in ("groups", "collapsed")
    ]
    done = mentor_stream("export", copy, str(tmp_path / "c.parquet"), "--topics", "hints")
    assert done.returncode == 2
    assert "there is no topic 'hints'" in done.stderr
    done = mentor_stream("export", f"{copy}:nobody", str(tmp_path / "c.parquet"))
    assert "the broker has no topic of run 'nobody'" in done.stderr
    assert not (tmp_path / "c.parquet").exists()


def test_what_retention_has_taken_is_told(tmp_path: Path):
    config = write_config(tmp_path, topics="partitions = 1\nretention_bytes = 1_048_576")
    as_json("topics", "create", config)
    url = f"sqlite:///{tmp_path}/stream.db"

    async def flood(broker: Any) -> None:
        for _ in range(2):  # retention is looked at about once a second, and by every new producer
            async with broker.producer() as producer:
                for _ in range(10):
                    await producer.send("run.queries", b"key", bytes(200_000))

    on(url, flood)
    found = as_json("export", config, str(tmp_path / "a.parquet"), "--topics", "queries")
    (topic,) = found["topics"]
    assert topic["messages"] + topic["missing"] == 20
    assert topic["missing"] > 0
    told = mentor_stream("import", str(tmp_path / "a.parquet"), str(tmp_path / "copy.db"))
    assert f"{topic['missing']} messages are missing: retention had taken them" in told.stdout
    copy = on(f"sqlite:///{tmp_path}/copy.db", lambda broker: broker.describe("run.queries"))
    assert copy.spec == TopicSpec("run.queries", 1), "a copy forgets nothing"
