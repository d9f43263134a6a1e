"""`mentor-stream export` and `import`: a run as one file, and what is the same on the copy."""

import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from consumers.archive import manifest, tool
from consumers.archive.manifest import ArchiveError, Manifest
from mentor_stream import topics
from mentor_stream.broker import Broker, TopicSpec
from schemas import decode
from tests.consumers.archive.conftest import CASES, Recorded, on
from tests.endpoint import Endpoint
from tests.runs import as_json, mentor_stream, write_config

TALKED = ["collapsed", "groups", "diagnoses", "guided", "queries", "policies", "dead-letters"]


def test_a_run_that_went_through_parquet_or_a_file_of_sqlite_is_the_same_message_for_message(
    recorded_anywhere: Recorded, tmp_path: Path
):
    run = recorded_anywhere
    parquet, direct, imported = tmp_path / "a.parquet", tmp_path / "direct.db", tmp_path / "imported.db"
    exported = as_json("export", run.config, str(parquet))
    assert exported["digest"] == as_json("export", run.config, str(direct))["digest"]
    assert as_json("import", str(parquet), str(imported))["digest"] == exported["digest"]
    known = run.messages()
    assert run.messages(f"sqlite:///{direct}") == known
    assert run.messages(f"sqlite:///{imported}") == known
    assert as_json("export", run.copy(imported), str(tmp_path / "b.parquet"))["digest"] == exported["digest"]
    counts = {topic["topic"]: topic["messages"] for topic in exported["topics"]}
    assert counts == {"queries": CASES, "guided": CASES, "groups": CASES, "collapsed": CASES + 3} | {
        "diagnoses": CASES, "policies": 1, "metrics": 1, "dead-letters": 3,
    }  # fmt: skip
    assert exported["missing"] == 0


def test_who_reads_and_compares_the_copy_is_told_the_same(recorded_anywhere: Recorded, tmp_path: Path):
    run, copy = recorded_anywhere, tmp_path / "copy.db"
    as_json("export", run.config, str(tmp_path / "a.parquet"))
    as_json("import", str(tmp_path / "a.parquet"), run.copy(copy))
    for what in ["hints", *TALKED]:
        told = [
            sorted(
                mentor_stream(
                    "tail", what, config, "--no-follow", "--json", "--last", "99"
                ).stdout.splitlines()
            )
            for config in (run.config, run.copy(copy))
        ]
        assert told[0] == told[1]
        assert told[0]
    compared = [as_json("compare", config, config) for config in (run.config, run.copy(copy))]
    for document in compared:
        document["questions"].sort(key=str)  # partitions of a cluster come in no order
    assert compared[0] == compared[1]
    moment = run.messages()["queries"][0][2]
    shown = [
        as_json("topics", "describe", config, "queries")["topics"][0] | {"size_bytes": 0}
        for config in (run.config, run.copy(copy))
    ]
    assert shown[0]["offsets"] == shown[1]["offsets"]
    later = [
        on(u, lambda b: b.offsets_at(f"{run.name}.queries", moment)) for u in (run.url, f"sqlite:///{copy}")
    ]
    assert later[0] == later[1]


def test_a_replay_of_the_copy_has_the_digest_of_a_replay_of_the_run(
    recorded_anywhere: Recorded, tmp_path: Path
):
    run, copy = recorded_anywhere, recorded_anywhere.copy(tmp_path / "copy.db")
    as_json("export", run.config, str(tmp_path / "a.parquet"))
    as_json("import", str(tmp_path / "a.parquet"), copy)
    with Endpoint() as endpoint:
        llm = f'{{ kind = "llm", base_url = "{endpoint.url}", model = "m" }}'
        mentor = f'\n[mentor]\nleak_guard = "text"\n[mentor.guide]\nkind = "fdcg"\nagents = {llm}\n'
        replays: list[Any] = []
        for config in (run.config, copy):
            Path(config).write_text(Path(config).read_text() + mentor)
            to = ["--to", f"{run.name}-again", "--cache", str(tmp_path / "replies")]
            replays.append(as_json("replay", "--from", config, *to))
        offsets = ["--offsets", "0:0-1,1:0-1,2:0-1,3:0-1"]
        parts = [
            as_json("replay", "--from", config, "--to", f"{run.name}-part", *to[2:], *offsets)
            for config in (run.config, copy)
        ]
    assert replays[0]["digest"] == replays[1]["digest"]
    assert replays[0]["cases"] == CASES
    assert (replays[1]["unreadable"], replays[1]["replies"]["asked"]) == (3, 0)
    assert parts[0]["digest"] == parts[1]["digest"]
    assert 0 < parts[0]["cases"] <= 8


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


def test_the_parquet_file_is_a_table_for_pandas(recorded: Recorded, tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    as_json("export", recorded.config, str(tmp_path / "a.parquet"))
    table = pandas.read_parquet(tmp_path / "a.parquet")
    groups = table[table.topic == "groups"]
    assert [list(v) for v in groups.verdicts] == [["right", "wrong", "unscorable", "aborted"]] * CASES
    assert [list(r)[:2] for r in groups.rewards] == [[1.0, 0.0]] * CASES
    assert groups.rewards.iloc[0][2] is None or pandas.isna(groups.rewards.iloc[0][2])
    assert set(groups.origin) == {"guided"}
    assert set(groups.policy_version) == {0}
    assert sorted(groups.question) == sorted(f"What is {n} + {n}?" for n in range(CASES))
    assert decode(groups.value.iloc[0], topics.GROUPS.record).group_id == groups.group_id.iloc[0]
    poison = table[(table.topic == "collapsed") & table.record.isna()]
    assert len(poison) == 3
    assert poison.error.str.contains("record unknown").all()
    assert str(table.time.dtype) == "datetime64[ns, UTC]"
    assert sorted(table[table.topic == "diagnoses"].outcome) == ["hint"] * CASES


def test_a_file_that_is_there_is_replaced_with_force_only_and_the_stream_itself_never(
    recorded: Recorded, tmp_path: Path
):
    file = tmp_path / "a.parquet"
    file.write_text("mine")
    done = mentor_stream("export", recorded.config, str(file))
    assert done.returncode == 2
    assert "is there already: name another file, or use --force" in done.stderr
    assert file.read_text() == "mine"
    as_json("export", recorded.config, str(file), "--force")
    assert as_json("import", str(file), str(tmp_path / "b.db"))["messages"] > 0
    done = mentor_stream("export", recorded.config, str(tmp_path / "stream.db"), "--force")
    assert "is the stream itself" in done.stderr
    assert (
        "name a file that ends in .parquet or .db"
        in mentor_stream("export", recorded.config, str(tmp_path / "a.csv")).stderr
    )


def test_an_archive_is_imported_once_under_a_name_and_another_run_is_never_written_over(
    recorded: Recorded, tmp_path: Path
):
    file, copy = tmp_path / "a.parquet", recorded.copy(tmp_path / "copy.db")
    as_json("export", recorded.config, str(file))
    assert not as_json("import", str(file), copy)["already_there"]
    known = recorded.messages(f"sqlite:///{tmp_path}/copy.db")
    assert as_json("import", str(file), copy)["already_there"]
    assert "was there already: nothing was changed" in mentor_stream("import", str(file), copy).stdout
    assert recorded.messages(f"sqlite:///{tmp_path}/copy.db") == known
    done = mentor_stream("import", str(file), recorded.config)
    assert done.returncode == 2
    assert f"run '{recorded.name}' is there already" in done.stderr
    part = tmp_path / "part.parquet"
    as_json("export", recorded.config, str(part), "--topics", "groups")
    assert "is there already" in mentor_stream("import", str(part), copy).stderr
    renamed = mentor_stream("import", str(file), f"{recorded.config}:again")
    assert f"Its name was {recorded.name}" in renamed.stdout
    assert recorded.messages(name="again") == recorded.messages()
    db = tmp_path / "direct.db"
    as_json("export", recorded.config, str(db))
    assert as_json("import", str(db), f"{recorded.config}:third")["messages"] > 0
    assert recorded.messages(name="third") == recorded.messages()
    assert "is a stream already" in mentor_stream("import", str(db), str(db)).stderr


def test_an_import_into_a_cluster_is_refused_with_the_reason(recorded: Recorded, tmp_path: Path):
    as_json("export", recorded.config, str(tmp_path / "a.parquet"))
    cluster = write_config(tmp_path, broker="kafka://127.0.0.1:9", name="cluster")
    done = mentor_stream("import", str(tmp_path / "a.parquet"), cluster)
    assert done.returncode == 2
    assert "a cluster gives offsets and times itself" in done.stderr


KILLED = """
import os, signal, sys
from consumers.archive import exporting, restored
from tests.endpoint import Endpoint
from tests.runs import mentor_stream

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "late":
    restored.finish = exporting.Manifest = die
else:
    exporting.Tallies.add = die
mentor_stream(*sys.argv[2:])
"""


@pytest.mark.parametrize("when", ["early", "late"])
@pytest.mark.parametrize("suffix", ["parquet", "db"])
def test_what_was_killed_leaves_no_file_that_looks_whole_and_works_the_second_time(
    recorded: Recorded, tmp_path: Path, when: str, suffix: str
):
    def killed(*command: str) -> None:
        done = subprocess.run([sys.executable, "-c", KILLED, when, *command], cwd=Path(__file__).parents[3])
        assert done.returncode == -signal.SIGKILL

    files = tmp_path / "files"
    files.mkdir()
    out = files / f"out.{suffix}"
    killed("export", recorded.config, str(out))
    assert not out.exists()
    assert list(files.iterdir()), "it was killed in the middle"
    as_json("export", recorded.config, str(out))
    assert list(files.iterdir()) == [out], "nothing is left of the first"

    copy = files / "copy.db"
    killed("import", str(out), str(copy))
    assert not [name for name in on(f"sqlite:///{copy}", lambda b: b.topics()) if name.endswith(".groups")]
    assert not as_json("import", str(out), str(copy))["already_there"]
    assert recorded.messages(f"sqlite:///{copy}") == recorded.messages()


@pytest.mark.parametrize("suffix", ["parquet", "db"])
def test_whatever_is_cut_or_changed_is_refused_by_name_or_is_nothing_of_the_run(
    recorded: Recorded, tmp_path: Path, suffix: str
):
    file = tmp_path / f"out.{suffix}"
    as_json("export", recorded.config, str(file))
    data, known = file.read_bytes(), recorded.messages()
    harmed = tmp_path / f"harmed.{suffix}"
    refused = 0
    for number in range(24):
        place = number * len(data) // 24 + number % 7
        change = bytes([data[place] ^ 0x55])
        harmed.write_bytes(data[:place] if number % 4 == 0 else data[:place] + change + data[place + 1 :])
        copy = tmp_path / f"copy{number}.db"
        done = mentor_stream("import", str(harmed), str(copy))
        assert mentor_stream("import", str(harmed), "--verify").returncode == done.returncode
        if done.returncode:
            refused += 1
            assert done.returncode == 2, done.stderr
            assert f"{harmed} " in done.stderr
            if copy.exists():
                assert not on(f"sqlite:///{copy}", lambda broker: broker.topics())
        else:
            assert recorded.messages(f"sqlite:///{copy}") == known
    assert refused >= 12


def test_a_file_can_be_looked_at_without_importing_it(recorded: Recorded, tmp_path: Path):
    for name in ("a.parquet", "a.db"):
        exported = as_json("export", recorded.config, str(tmp_path / name))
        looked = as_json("import", str(tmp_path / name), "--verify")
        same = looked.keys() - {"seconds"}
        assert {key: exported[key] for key in same} == {key: looked[key] for key in same}
    for wrong in ([], [str(tmp_path / "to.db"), "--verify"]):
        done = mentor_stream("import", str(tmp_path / "a.db"), *wrong)
        assert done.returncode == 2
        assert "--verify to only look at it" in " ".join(done.stderr.split())


def test_what_is_no_archive_is_said(recorded: Recorded, tmp_path: Path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("text")
    (tmp_path / "text.db").write_text("text" * 1000)
    (tmp_path / "empty.db").touch()
    for name, problem in {
        "other.parquet": "other.parquet is no archive of a run",
        "text.parquet": "text.parquet is damaged, cut or no archive",
        "text.db": "text.db is damaged, cut or no archive",
        "stream.db": "stream.db is no archive of a run",
        "empty.db": "empty.db is empty",
        "none.db": "none.db: there is no such file",
    }.items():
        done = mentor_stream("import", str(tmp_path / name), str(tmp_path / "to.db"))
        assert done.returncode == 2
        assert problem in done.stderr, name
        assert ".." not in done.stderr, name
    assert not (tmp_path / "none.db").exists()
    assert (tmp_path / "empty.db").stat().st_size == 0, "looking makes no stream of it"


@pytest.mark.parametrize("name", ["x/y", " ", "..", "a\n", "\x1b[2J", "ä", "x" * 102])
def test_no_copy_gets_a_name_that_no_run_can_have(recorded: Recorded, tmp_path: Path, name: str):
    file = tmp_path / "a.parquet"
    as_json("export", recorded.config, str(file))
    done = mentor_stream("import", str(file), f"{recorded.config}:{name}")
    assert done.returncode == 2
    assert f"is {name!r}: expected the name of a run" in done.stderr
    assert all(topic.startswith(recorded.name) for topic in on(recorded.url, lambda broker: broker.topics()))
    seal = manifest.encode(Manifest(run=name, source="x", exported_at=0, since=None, until=None, topics=()))
    with pytest.raises(ArchiveError, match="is no name of a run"):
        manifest.decode(seal)


def test_the_table_for_people_names_topics_and_the_digest(recorded: Recorded, tmp_path: Path):
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split()[:2] == ["collapsed", f"{CASES + 3}"] for line in lines)
    assert any(line.startswith("digest ") for line in lines)
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    assert lines[1].split() == ["topic", "messages", "MB", "first", "last"], (
        "and what is missing where any is"
    )
    written = as_json("export", recorded.config, str(tmp_path / "b.db"))
    assert written["file_bytes"] == (tmp_path / "b.db").stat().st_size


def test_into_a_folder_a_run_comes_with_its_config_and_its_batches(recorded: Recorded, tmp_path: Path):
    directory = tmp_path / recorded.name
    directory.mkdir()
    (directory / "batches.jsonl").write_text('{"version":0,"groups":["a"]}\n{"version":1,"gro')
    with Path(recorded.config).open("a") as file:
        file.write('\n[mentor.guide]\nkind = "none"\napi_key = "hunter2"\n')
    file = tmp_path / "run.parquet"
    # such a key is no setting of that guide: only the commands that need no guide take it
    exported = as_json("export", recorded.config, str(file))
    assert exported["left_out"] == ["mentor.guide.api_key"]
    assert b"hunter2" not in file.read_bytes()

    home = tmp_path / "home"
    first = as_json("import", str(file), str(home))
    assert first["written"] == [str(home / "run.toml"), str(home / "batches.jsonl")]
    assert (home / "batches.jsonl").read_text() == '{"version":0,"groups":["a"]}\n'
    assert recorded.messages(f"sqlite:///{home}/stream.db") == recorded.messages()
    told = [
        sorted(mentor_stream("tail", "groups", config, "--no-follow", "--json").stdout.splitlines())
        for config in (recorded.config, str(home / "run.toml"))
    ]
    assert told[0] == told[1]
    done = mentor_stream("import", str(file), str(home / "batches.jsonl"))
    assert done.returncode == 2
    assert "batches.jsonl is no folder" in done.stderr
    (home / "run.toml").write_text("mine")
    again = as_json("import", str(file), str(home))
    assert (again["already_there"], again["written"]) == (True, [])
    assert (home / "run.toml").read_text() == "mine"


def test_batches_that_are_trained_meanwhile_do_not_go_along_since_their_groups_do_not(
    recorded: Recorded, tmp_path: Path
):
    journal, file = tmp_path / "batches.jsonl", tmp_path / "a.db"
    journal.write_text('{"version":0,"groups":["a\u2028b"]}\n')

    def train(*_: object) -> None:
        with journal.open("a") as more:
            more.write('{"version":1,"groups":["later"]}\n')

    request: dict[str, Any] = {"topics": [], "since": None, "until": None, "force": False, "path": file}
    tool.export(train, url=recorded.url, run=recorded.name, config=None, batches=journal, **request)
    assert len(journal.read_text().splitlines()) > 1
    as_json("import", str(file), str(tmp_path / "home"))
    assert (tmp_path / "home/batches.jsonl").read_text() == '{"version":0,"groups":["a\u2028b"]}\n'


def test_a_journal_that_cannot_be_read_is_named(recorded: Recorded, tmp_path: Path):
    (tmp_path / recorded.name).mkdir()
    journal = tmp_path / recorded.name / "batches.jsonl"
    journal.write_bytes(b'{"version":0,"groups":["\xff"]}\n')
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"))
    assert done.returncode == 2
    assert f"{journal} cannot be read" in done.stderr
    assert not (tmp_path / "a.parquet").exists()


def test_of_a_stream_with_several_copies_none_is_guessed_and_the_way_out_works(
    recorded: Recorded, tmp_path: Path
):
    file, both = tmp_path / "a.parquet", tmp_path / "both.db"
    digest = as_json("export", recorded.config, str(file))["digest"]
    config = recorded.copy(both)
    for name in ("one", "two"):
        as_json("import", str(file), f"{config}:{name}")
    done = mentor_stream("import", str(both), str(tmp_path / "to.db"))
    assert done.returncode == 2
    assert f"{both}: it holds several runs (one, two). Export the one that is meant" in done.stderr
    assert as_json("export", f"{config}:one", str(tmp_path / "one.db"))["digest"] == digest


def test_a_span_of_time_that_ends_before_it_begins_is_refused_by_name(recorded: Recorded, tmp_path: Path):
    for given, told in {
        ("--since", "1m", "--until", "2h"): "--since 1m is later than --until 2h",
        ("--until", "5x"): "--until 5x: expected",
    }.items():
        done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"), *given)
        assert done.returncode == 2
        assert told in done.stderr


def test_another_run_s_config_does_not_go_along(recorded: Recorded, tmp_path: Path):
    file = tmp_path / "a.parquet"
    as_json("export", recorded.config, str(file))
    as_json("import", str(file), f"{recorded.config}:again")
    as_json("export", f"{recorded.config}:again", str(tmp_path / "again.db"))
    assert as_json("import", str(tmp_path / "again.db"), str(tmp_path / "home"))["written"] == []


def test_a_run_at_work_is_exported_up_to_where_it_was_and_its_groups_keep_their_places(
    recorded_anywhere: Recorded, tmp_path: Path
):
    run, file = recorded_anywhere, tmp_path / "a.parquet"
    asked: list[int] = []
    under_way = threading.Event()

    async def work_on(broker: Broker, is_over: threading.Event) -> None:
        async with broker.consumer([f"{run.name}.collapsed"], group=f"{run.name}.mentor") as consumer:
            consumer.done(await anext(aiter(consumer)))
            async with broker.producer() as producer:
                while not is_over.is_set():
                    await producer.send(f"{run.name}.groups", b"key%d" % len(asked), b"came later")
                    asked.append(1)
                    if len(asked) == 20:
                        under_way.set()

    def lag() -> int:
        return on(run.url, lambda broker: broker.lag(f"{run.name}.collapsed", f"{run.name}.mentor"))

    is_over = threading.Event()
    worker = threading.Thread(target=on, args=(run.url, lambda broker: work_on(broker, is_over)))
    worker.start()
    try:
        assert under_way.wait(60)
        exported = as_json("export", run.config, str(file))
    finally:
        is_over.set()
        worker.join()
    assert lag() == CASES + 2, "what the mentor had done is done, and nothing else"
    as_json("import", str(file), str(tmp_path / "copy.db"))
    now, copied = run.messages()["groups"], run.messages(f"sqlite:///{tmp_path}/copy.db")["groups"]
    (told,) = (topic for topic in exported["topics"] if topic["topic"] == "groups")
    assert CASES + 20 <= told["messages"] <= len(now)
    ends = {int(number): end for number, (_, end) in told["partitions"].items()}
    messages = [row for row in now if len(row) == 6 and row[1] < ends[row[0]]]
    assert [row for row in copied if len(row) == 6] == messages


def test_of_a_range_without_messages_it_is_said_that_the_archive_is_empty(recorded: Recorded, tmp_path: Path):
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"), "--since", "2099-01-01")
    assert (done.returncode, "the archive is empty" in done.stdout) == (0, True)
    whole = mentor_stream("export", recorded.config, str(tmp_path / "b.parquet"))
    assert "is empty" not in whole.stdout
