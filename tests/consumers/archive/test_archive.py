"""`mentor-stream export` and `import`: a run as one file, and what is the same on the copy."""

import threading
from pathlib import Path
from typing import Any

from mentor_stream.broker import Broker
from tests.consumers.archive.conftest import CASES, Recorded, on
from tests.endpoint import Endpoint
from tests.runs import as_json, mentor_stream

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
