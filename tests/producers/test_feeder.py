import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.config import load
from mentor_stream.stream import Stream
from producers.datasets.base import DataConfig
from producers.datasets.reading import read
from producers.feeder import Feeder, component
from tests.builders import a_query
from tests.streams import everything

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def connected(tmp_path: Path) -> AsyncIterator[Stream]:
    async with stream.connect(f"sqlite:///{tmp_path}/stream.db", "test", "tester") as found:
        yield found


def write_questions(path: Path, count: int) -> None:
    rows = [{"question": f"What is {i} + 1?", "answer": i + 1} for i in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_config(directory: Path, *, batch_groups: int, epochs: int | None = None, more: str = "") -> Path:
    path = directory / "run.toml"
    path.write_text(
        f"""
        [run]
        name = "test"
        directory = "{directory}"
        broker = "sqlite:///{directory}/stream.db"
        policy = "{directory}"
        batch_groups = {batch_groups}
        max_staleness = 1
        max_versions = 1000
        [data]
        train = "{directory}/train.jsonl"
        {"" if epochs is None else f"epochs = {epochs}"}
        {more}
        """
    )
    return path


@contextmanager
def feeding(config: Path) -> Generator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "mentor_stream.cli", "feed", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until_said(process: "subprocess.Popen[str]", words: str) -> str:
    """What it says up to a line that ends so, or to its end."""
    assert process.stderr
    said = ""
    while (line := process.stderr.readline()) and not line.endswith(words):
        said += line
    assert line, said
    return said + line


def ended(process: "subprocess.Popen[str]") -> tuple[str, int]:
    """What else it says, and its exit code."""
    _, said = process.communicate(timeout=120)
    return said, process.returncode


async def fed(connected: Stream) -> int:
    return sum(bounds.next for bounds in (await connected.bounds(topics.QUERIES)).values())


async def until_fed(connected: Stream, at_least: int) -> None:
    with anyio.fail_after(120):
        while await fed(connected) < at_least:
            await anyio.sleep(0.005)


def a_release(version: int, *, resolved: int, accepted: int, final: bool = False) -> schemas.PolicyRelease:
    return schemas.PolicyRelease(
        policy_version=version,
        step=version,
        uri="nowhere",
        digest="",
        consumed=schemas.Consumed(resolved=resolved, accepted=accepted),
        final=final,
        published_at=0.0,
    )


async def test_a_feeder_killed_again_and_again_feeds_every_position_exactly_once(
    tmp_path: Path, connected: Stream
) -> None:
    write_questions(tmp_path / "train.jsonl", 1000)
    config = write_config(tmp_path, batch_groups=1024, epochs=2)
    for goal in (1, 333, 1200):
        with feeding(config) as process:
            await until_fed(connected, goal)
            process.kill()
    with feeding(config) as process:
        code = await anyio.to_thread.run_sync(lambda: process.wait(120))
        assert code == 0
    queries = await everything(connected, topics.QUERIES)
    assert sorted(query.position for query in queries) == list(range(2000))
    assert len({(query.query_id, query.attempt) for query in queries}) == 2000
    assert len({query.query_id for query in queries}) == 1000


async def test_a_second_feeder_of_a_run_is_refused(tmp_path: Path, connected: Stream) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    config = write_config(tmp_path, batch_groups=4)
    with feeding(config):
        await until_fed(connected, 8)
        with feeding(config) as second:
            said, code = await anyio.to_thread.run_sync(ended, second)
    assert code == 75, "an orchestrator tries again"
    assert "run.name is 'test': on this broker that run has its feeder already" in said
    assert await fed(connected) == 8


async def test_the_feeder_waits_for_the_trainer_and_follows_its_counters(
    tmp_path: Path, connected: Stream
) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    with feeding(write_config(tmp_path, batch_groups=4)):
        await until_fed(connected, 8)
        await connected.publish(topics.POLICIES, a_release(0, resolved=3, accepted=1))
        await until_fed(connected, 10)
        await connected.publish(topics.POLICIES, a_release(1, resolved=8, accepted=4))
        await until_fed(connected, 16)
        async with connected.reader(topics.METRICS, start="earliest") as metrics:
            with anyio.fail_after(30):
                async for delivery in metrics:
                    if delivery.record.policy_version == 1 and delivery.record.values["fed"] == 16:
                        assert delivery.record.values == {"fed": 16, "outstanding": 8, "capacity": 8}
                        break
        assert await fed(connected) == 16
    epochs = {query.position: query.attempt for query in await everything(connected, topics.QUERIES)}
    assert epochs == {position: position // 5 for position in range(16)}


async def test_a_feeder_that_is_stopped_tells_what_it_did_since_its_last_report_and_nothing_twice(
    tmp_path: Path, connected: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("producers.feeder.REPORT_SECONDS", 1000)
    write_questions(tmp_path / "train.jsonl", 5)
    config = load(write_config(tmp_path, batch_groups=4), component.sections)
    data = config.of(DataConfig)

    async def fed_until(count: int) -> None:
        feeder = Feeder(connected, read(data.train, data, "data.train"), config.run, data.epochs)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(feeder.run)
                await until_fed(connected, count)
                while feeder._fed < count or not await everything(connected, topics.METRICS):
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()

    await connected.publish(topics.POLICIES, a_release(0, resolved=2, accepted=0))
    await fed_until(10)
    told = await everything(connected, topics.METRICS)
    assert told[-1].values == {"fed": 10, "outstanding": 8, "capacity": 8}
    await fed_until(10)
    again = (await everything(connected, topics.METRICS))[len(told) :]
    assert [metric.values["fed"] for metric in again] == [10] * len(again)
    assert len(again) <= 2, "one as it begins, one more if it heard of the release later"


async def test_a_restarted_feeder_starts_from_the_newest_counters(tmp_path: Path, connected: Stream) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    config = write_config(tmp_path, batch_groups=4)
    with feeding(config):
        await until_fed(connected, 8)
    await connected.publish(topics.POLICIES, a_release(1, resolved=8, accepted=8))
    await connected.publish(topics.POLICIES, a_release(2, resolved=8, accepted=8))
    with feeding(config):
        await until_fed(connected, 16)


async def test_a_feeder_outlives_its_run_for_a_trainer_that_goes_on_and_says_what_it_does(
    tmp_path: Path, connected: Stream
) -> None:
    write_questions(tmp_path / "train.jsonl", 10)
    with feeding(write_config(tmp_path, batch_groups=4, epochs=1)) as process:
        await until_fed(connected, 8)
        for _ in range(2):
            await connected.publish(topics.POLICIES, a_release(1, resolved=8, accepted=8, final=True))
        waiting = "the run is over at version 1: waiting in case its trainer goes on\n"
        with anyio.fail_after(120):
            said = await anyio.to_thread.run_sync(until_said, process, waiting, abandon_on_cancel=True)
        assert await fed(connected) == 8
        await connected.publish(topics.POLICIES, a_release(2, resolved=8, accepted=8))
        rest, _ = await anyio.to_thread.run_sync(lambda: ended(process))
        assert process.returncode == 0
    assert (said + rest).count(waiting) == 1
    assert rest.endswith("all 10 questions of data.epochs are fed\n")
    assert await fed(connected) == 10


async def test_a_feeder_that_is_asked_to_stop_says_so(tmp_path: Path, connected: Stream) -> None:
    write_questions(tmp_path / "train.jsonl", 10)
    with feeding(write_config(tmp_path, batch_groups=4)) as process:
        await until_fed(connected, 8)
        process.terminate()
        rest, code = await anyio.to_thread.run_sync(lambda: ended(process))
    assert code == 128 + signal.SIGTERM
    assert rest.endswith("asked to stop (SIGTERM)\n")


async def test_questions_that_changed_during_a_run_are_refused(tmp_path: Path, connected: Stream) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    config = write_config(tmp_path, batch_groups=4)
    with feeding(config):
        await until_fed(connected, 8)
    write_questions(tmp_path / "train.jsonl", 6)
    with feeding(config) as process:
        _, errors = await anyio.to_thread.run_sync(lambda: process.communicate(timeout=120))
    assert process.returncode == 2
    assert "Traceback" not in errors
    assert "not what run 'test' was fed so far" in errors
    assert "content digest " in errors
    assert "run.policy to the newest snapshot" in errors
    assert await fed(connected) == 8


async def test_a_feeder_whose_queries_are_all_gone_does_not_begin_again(tmp_path: Path) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    url = f"sqlite:///{tmp_path}/stream.db"
    async with brokers.connect(url) as broker:
        await broker.create_topics([brokers.TopicSpec("test.queries", retention_bytes=1)])
    async with stream.connect(url, "test", "tester") as connected:
        await connected.publish(topics.QUERIES, a_query())
        with feeding(write_config(tmp_path, batch_groups=4)) as process:
            _, errors = await anyio.to_thread.run_sync(lambda: process.communicate(timeout=120))
        assert process.returncode == 2
        assert "topics.queries: retention took all 1 queries that run 'test' was fed" in errors
        assert "Traceback" not in errors
        assert await fed(connected) == 1


def test_a_config_with_readable_questions_has_no_problems(tmp_path: Path) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    config = load(write_config(tmp_path, batch_groups=4), component.sections)
    assert list(component.check(config)) == []


def test_a_run_without_an_end_is_named_unless_its_data_end(tmp_path: Path) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    for epochs, problems in ((None, 1), (2, 0)):
        path = write_config(tmp_path, batch_groups=4, epochs=epochs)
        path.write_text(path.read_text().replace("max_versions = 1000", ""))
        found = list(component.check(load(path, component.sections)))
        assert len(found) == problems
        assert all("run.max_versions and data.epochs are missing" in problem for problem in found)


def test_the_check_names_missing_files_and_unreadable_references_at_once(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(
        '{"question": "?", "answer": "1"}\n{"question": "?", "answer": "\\\\frac{1}{"}\n'
    )
    path = write_config(tmp_path, batch_groups=4, more=f'heldout = "{tmp_path}/absent.parquet"')
    problems = list(component.check(load(path, component.sections)))
    assert len(problems) == 2
    assert "data.heldout" in problems[0]
    assert "train.jsonl line 2" in problems[1]


@pytest.mark.parametrize(
    ("verifier", "complaint"),
    [
        ("{kind = 'mth'}", "known: choice, code, exact, math, script, weighted"),
        ("{kind = 'exact', trim = true}", "reward.verifier.trim: no such setting"),
        ("{kind = 'tests.hostile:Unbuildable'}", "no tools here"),
        ("{kind = 'tests.hostile:Objecting'}", "the compiler it calls is not installed"),
    ],
)
def test_the_check_names_a_verifier_that_cannot_be_made_or_finds_a_problem_itself(
    tmp_path: Path, verifier: str, complaint: str
) -> None:
    write_questions(tmp_path / "train.jsonl", 5)
    path = write_config(tmp_path, batch_groups=4, more=f"[reward]\nverifier = {verifier}")
    (problem,) = component.check(load(path, component.sections))
    assert complaint in problem
