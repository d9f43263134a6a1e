"""The demo under kill -9: every component and the supervisor die, and nothing is lost or trained twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import schemas
from mentor_stream import stream as streams
from mentor_stream import topics
from mentor_stream.stream import Stream
from tests.streams import everything

ROOT = Path(__file__).parent.parent.parent
VERSIONS = 26
BATCH_GROUPS = 8
COMPONENTS = ["trainer", "rollout", "mentor", "feeder", "evaluator"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Demo:
    """A short demo run in a directory of its own, and its supervisor."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.broker = f"sqlite:///{directory}/stream.db"
        self.config = directory / "short.toml"
        self.config.write_text(
            (ROOT / "examples/chain/demo.toml")
            .read_text()
            .replace('"runs/demo"', f'"{directory}"')
            .replace("sqlite:///runs/demo/stream.db", self.broker)
            .replace("batch_groups = 16 ", f"batch_groups = {BATCH_GROUPS} ")
            .replace("max_tokens = 400_000 ", f"max_versions = {VERSIONS} ")
            .replace("checkpoint_every = 10 ", "checkpoint_every = 3 ")
        )
        self.supervisor: subprocess.Popen[bytes] | None = None

    def start(self, command: str = "up") -> subprocess.Popen[bytes]:
        with (self.directory / f"{command}.log").open("ab") as log:
            self.supervisor = subprocess.Popen(
                [sys.executable, "-m", "mentor_stream.cli", command, str(self.config)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self.supervisor

    def pid_of(self, component: str) -> int | None:
        """The process id of a component of the running supervisor."""
        command = {"trainer": "train", "feeder": "feed", "evaluator": "evaluate"}.get(component, component)
        assert self.supervisor is not None
        for listing in Path("/proc").glob(f"{self.supervisor.pid}/task/*/children"):
            for pid in listing.read_text().split():
                if f"\0{command}\0" in read(Path(f"/proc/{pid}/cmdline")):
                    return int(pid)
        return None

    def said(self) -> str:
        logs = [self.directory / "up.log", *sorted((self.directory / "logs").glob("*.log"))]
        return "\n".join(f"== {log.name}\n{read(log)[-3000:]}" for log in logs)


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    run = Demo(tmp_path)
    yield run
    if run.supervisor is not None:
        run.supervisor.kill()
        run.supervisor.wait()


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


async def next_version(stream: Stream, after: int) -> int:
    """The first policy version beyond `after` that is released."""
    async with stream.reader(topics.POLICIES, start="earliest") as releases:
        async for delivery in releases:
            if delivery.record.policy_version > after:
                return delivery.record.policy_version
    raise AssertionError("a following reader does not end")


async def ended(process: subprocess.Popen[bytes]) -> int:
    return await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)


async def kill_component(demo: Demo, name: str) -> None:
    while (pid := demo.pid_of(name)) is None:
        await anyio.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    while demo.pid_of(name) in (pid, None):
        await anyio.sleep(0.05)


async def test_the_demo_survives_kill_9_of_everything_and_trains_no_group_twice(demo: Demo) -> None:
    with anyio.fail_after(600):
        supervisor = demo.start()
        async with streams.connect(demo.broker, "demo", "test") as stream:
            version = 0
            for name in COMPONENTS:
                version = await next_version(stream, version)
                await kill_component(demo, name)
            version = await next_version(stream, version)
            supervisor.kill()
            await ended(supervisor)
            assert await ended(demo.start()) == 0, demo.said()
            await finish_what_is_left(demo, stream)
            await check_that_nothing_is_lost(stream)
    check_what_was_trained(demo, {g.group_id for g in await recorded_groups(demo)})


async def finish_what_is_left(demo: Demo, stream: Stream) -> None:
    """Let a worker and a mentor deal with what was under way when the run ended."""
    workers = [demo.start("rollout"), demo.start("mentor")]
    while sum(
        [
            await stream.lag(topics.QUERIES, "rollout"),
            await stream.lag(topics.GUIDED, "rollout"),
            await stream.lag(topics.COLLAPSED, "mentor"),
        ]
    ):
        assert [worker.poll() for worker in workers] == [None, None], demo.said()
        await anyio.sleep(0.2)
    for worker in workers:
        worker.terminate()
        await ended(worker)


async def check_that_nothing_is_lost(stream: Stream) -> None:
    """Every question became a group, every collapsed group a diagnosis, every lesson a group."""
    queries = await everything(stream, topics.QUERIES)
    lessons = await everything(stream, topics.GUIDED)
    collapsed = await everything(stream, topics.COLLAPSED)
    groups = await everything(stream, topics.GROUPS)
    diagnoses = await everything(stream, topics.DIAGNOSES)
    arrived = {group.group_id for group in [*groups, *collapsed]}
    asked = {schemas.group_id("demo", q.query_id, q.attempt) for q in [*queries, *lessons]}
    assert asked <= arrived
    assert {group.group_id for group in collapsed} == {d.group_id for d in diagnoses}
    assert {d.guided_query_id for d in diagnoses if d.guided_query_id} == {q.query_id for q in lessons}
    assert sorted({q.position for q in queries}) == list(range(len({q.position for q in queries})))
    assert await everything(stream, topics.DEAD_LETTERS) == []


async def recorded_groups(demo: Demo) -> list[schemas.Group]:
    async with streams.connect(demo.broker, "demo", "test") as stream:
        return [*await everything(stream, topics.GROUPS), *await everything(stream, topics.COLLAPSED)]


def check_what_was_trained(demo: Demo, known: set[str]) -> None:
    batches = [json.loads(line) for line in (demo.directory / "batches.jsonl").read_text().splitlines()]
    trained = [group for batch in batches for group in batch["groups"]]
    assert [batch["version"] for batch in batches] == list(range(VERSIONS))
    assert len(trained) == VERSIONS * BATCH_GROUPS
    assert len(set(trained)) == len(trained), "a group was trained twice"
    assert set(trained) <= known
