"""Topics as an operator meets them: created, compared with the config, changed, looked at."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import pytest

from mentor_stream import stream, topics
from mentor_stream.broker import Broker, TopicSpec, connect
from mentor_stream.stream import Stream
from tests.builders import a_group, a_query
from tests.runs import as_json, mentor_stream, url, write_config

T = TypeVar("T")


class Run:
    """A run of a name of its own, on a broker that others may use."""

    def __init__(self, directory: Path, broker: str) -> None:
        self.directory, self.broker = directory, broker
        self.name = f"run-{uuid4().hex[:8]}"
        self.names = [topic.of(self.name) for topic in topics.ALL]

    def config(self, settings: str = "") -> str:
        return write_config(self.directory, broker=self.broker, name=self.name, topics=settings)

    def topic(self, name: str) -> str:
        return f"{self.name}.{name}"

    def specs(self) -> dict[str, TopicSpec]:
        """The topics as they are."""

        async def specs(broker: Broker) -> dict[str, TopicSpec]:
            existing = [name for name in self.names if name in await broker.topics()]
            return {name: (await broker.describe(name)).spec for name in existing}

        return self.ask(specs)

    def ask(self, question: Callable[[Broker], Awaitable[T]]) -> T:
        async def main() -> T:
            async with connect(self.broker) as broker:
                return await question(broker)

        return anyio.run(main, backend="trio")

    def use(self, work: Callable[[Stream], Awaitable[T]]) -> T:
        async def main() -> T:
            async with stream.connect(self.broker, self.name, "test") as connected:
                return await work(connected)

        return anyio.run(main, backend="trio")


@pytest.fixture(params=["sqlite", "kafka"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    on_kafka = request.param == "kafka"
    return Run(tmp_path, f"kafka://{request.getfixturevalue('kafka')}" if on_kafka else url(tmp_path))


def by_topic(told: dict[str, Any]) -> dict[str, Any]:
    return {one["topic"]: one for one in told["topics"]}


async def publish_queries(connected: Stream, count: int) -> None:
    for position in range(count):
        await connected.publish(topics.QUERIES, a_query(position=position))


def test_create_makes_every_topic_as_configured_and_then_finds_no_difference(run: Run) -> None:
    config = run.config("partitions = 2\nretention_hours = 0.5\n[topics.groups]\nretention_bytes = 5_000_000")
    made = as_json("topics", "create", config)
    assert {name: one["outcome"] for name, one in by_topic(made).items()} == dict.fromkeys(
        run.names, "created"
    )
    specs = run.specs()
    assert specs[run.topic("queries")].partitions == 2
    assert specs[run.topic("policies")].partitions == 1
    assert specs[run.topic("policies")].retention_seconds is None
    assert specs[run.topic("groups")] == TopicSpec(
        run.topic("groups"), 2, retention_seconds=1800, retention_bytes=5_000_000
    )
    again = by_topic(as_json("topics", "create", config))
    assert {one["outcome"] for one in again.values()} == {"as configured"}


def test_what_differs_is_told_exactly_and_left_until_it_is_to_be_applied(run: Run) -> None:
    as_json("topics", "create", run.config("partitions = 2"))
    run.use(partial(publish_queries, count=6))
    before = run.specs()
    config = run.config("[topics.queries]\npartitions = 3\nretention_hours = 24\nmax_record_bytes = 100_000")
    told = by_topic(as_json("topics", "create", config, code=1))
    assert told[run.topic("queries")]["outcome"] == "differs"
    assert told[run.topic("queries")]["differences"] == [
        {"setting": "partitions", "actual": 2, "configured": 3},
        {"setting": "retention_hours", "actual": "forever", "configured": 24.0},
        {"setting": "max_record_bytes", "actual": 32 * 2**20, "configured": 100_000},
    ]
    assert run.specs() == before

    changed = by_topic(as_json("topics", "create", config, "--apply", code=0))
    assert changed[run.topic("queries")]["outcome"] == "altered"
    assert changed[run.topic("queries")]["differences"] == []
    assert len(changed[run.topic("queries")]["altered"]) == 3
    assert run.specs()[run.topic("queries")] == TopicSpec(
        run.topic("queries"), 3, retention_seconds=86400, max_message_bytes=100_000
    )
    assert as_json("topics", "describe", config, "queries")["topics"][0]["records"] == 6


def test_fewer_partitions_are_refused_and_nothing_else_is_done(run: Run) -> None:
    wide = TopicSpec(run.topic("groups"), partitions=5)
    run.ask(lambda broker: broker.create_topics([wide]))
    for apply in ((), ("--apply",)):
        refused = mentor_stream("topics", "create", run.config(), *apply)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"mentor-stream: {wide.name} has 5 partitions, 4 are configured: ")
        assert "topics.groups.partitions to 5 or more" in refused.stderr
        assert run.specs() == {wide.name: wide}
    told = by_topic(as_json("topics", "create", run.config(), code=2))
    assert told[wide.name]["outcome"] == "refused"
    assert told[run.topic("queries")]["outcome"] == "missing"


def test_copies_are_told_with_the_way_out_and_never_changed(run: Run) -> None:
    if run.broker.startswith("sqlite"):
        refused = mentor_stream("topics", "create", run.config("replication = 3"))
        assert refused.returncode == 2
        assert "topics.replication is 3: a SQLite file is the only copy" in refused.stderr
        return
    as_json("topics", "create", run.config())
    for apply in ((), ("--apply",)):
        told = mentor_stream("topics", "create", run.config("replication = 3"), *apply)
        assert told.returncode == 1
        assert "replication is 1, configured 3" in told.stdout
        assert "kafka-reassign-partitions.sh" in told.stdout


def test_list_shows_the_topics_of_the_run_and_all_those_of_every_run(run: Run) -> None:
    other = Run(run.directory, run.broker)
    as_json("topics", "create", other.config())
    assert "Not there: " in mentor_stream("topics", "list", run.config()).stderr
    run.ask(lambda broker: broker.create_topics([TopicSpec(f"{run.name}-foreign")]))
    run.use(partial(publish_queries, count=3))
    listed = by_topic(as_json("topics", "list", run.config()))
    assert list(listed) == run.names
    queries = listed[run.topic("queries")]
    assert (queries["run"], queries["records"], queries["partitions"]) == (run.name, 3, 4)
    assert queries["size_bytes"] > 100
    every = by_topic(as_json("topics", "list", run.config(), "--all"))
    assert {*run.names, *other.names} <= set(every)
    assert f"{run.name}-foreign" not in every
    table = mentor_stream("topics", "list", run.config(), "--all").stdout.splitlines()
    assert {f"run {run.name}", f"run {other.name}"} <= set(table)
    assert [line.split()[:3] for line in table if line.startswith(run.topic("queries"))] == [
        [run.topic("queries"), "4", "3"]
    ]


def test_what_is_foreign_in_names_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    run = Run(tmp_path, url(tmp_path))
    run.ask(lambda broker: broker.create_topics([TopicSpec("other\x1b[2J\u202e.queries")]))
    config = Path(run.config()).rename(tmp_path / "a\x1b[2J\r.toml")
    listed = mentor_stream("topics", "list", str(config), "--all")
    assert "other\\x1b[2J\\u202e.queries" in listed.stdout
    assert "topics create " + str(tmp_path) + "/a\\x1b[2J\\r.toml` makes them" in listed.stderr
    assert not {"\x1b", "\r", "\u202e"} & {*listed.stdout, *listed.stderr}


def test_describe_tells_offsets_lag_and_the_difference_to_the_config(run: Run) -> None:
    as_json("topics", "create", run.config("partitions = 1"))

    async def work(connected: Stream) -> None:
        await publish_queries(connected, 3)
        await connected.publish(topics.COLLAPSED, a_group("WW"))
        async with connected.consumer(topics.QUERIES) as queries:
            (await anext(queries)).done()

    run.use(work)
    told = by_topic(as_json("topics", "describe", run.config("partitions = 2")))
    queries, collapsed = told[run.topic("queries")], told[run.topic("collapsed")]
    assert queries["offsets"] == {"0": {"first": 0, "next": 3}}
    assert (queries["lag"], collapsed["lag"]) == ({"rollout": 2}, {"mentor": 1})
    assert queries["differences"] == [{"setting": "partitions", "actual": 1, "configured": 2}]
    assert told[run.topic("policies")]["differences"] == []
    shown = mentor_stream("topics", "describe", run.config("partitions = 1"), "queries").stdout
    assert shown.startswith(run.topic("queries"))
    assert "lag of rollout  2 records" in shown
    assert "no difference" in shown


def test_a_topic_that_is_none_and_one_that_is_missing_are_one_line(tmp_path: Path) -> None:
    Run(tmp_path, url(tmp_path)).ask(lambda broker: broker.create_topics([TopicSpec("another")]))
    config = write_config(tmp_path)
    nonsense = mentor_stream("topics", "describe", config, "quarries")
    missing = mentor_stream("topics", "describe", config, "queries")
    assert (nonsense.returncode, missing.returncode) == (2, 2)
    assert "known are queries, guided, groups" in nonsense.stderr
    assert missing.stderr.startswith(
        "mentor-stream: run.queries does not exist: `mentor-stream topics create"
    )


@pytest.mark.parametrize(
    "command",
    [("topics", "list"), ("topics", "describe"), ("dead-letters", "list"), ("dead-letters", "show", "0")],
)
def test_whoever_only_looks_makes_no_file(tmp_path: Path, command: tuple[str, ...]) -> None:
    group, name, *more = command
    looked = mentor_stream(group, name, write_config(tmp_path), *more)
    assert looked.returncode == 2
    assert looked.stderr.startswith(
        f"mentor-stream: run.broker is the file {tmp_path}/stream.db, which does not"
    )
    assert not (tmp_path / "stream.db").exists()


def test_a_component_that_must_not_create_topics_goes_on_once_they_are_created(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps({"question": "1 + 1?", "answer": "2"}) + "\n")
    config = write_config(tmp_path, topics="create = false", data="epochs = 1")
    feeder = [sys.executable, "-m", "mentor_stream.cli", "feed", config]
    with subprocess.Popen(feeder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        while "waiting for the topics run.collapsed, run.dead-letters" not in process.stderr.readline():
            assert process.poll() is None
        as_json("topics", "create", config)
        assert process.wait(120) == 0
    assert by_topic(as_json("topics", "list", config))["run.queries"]["records"] == 1
