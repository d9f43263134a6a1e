"""Short runs of the demo as real processes, and what must be true of their streams afterwards."""

import json
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import uuid4

import anyio

import schemas
from mentor_stream import stream as streams
from mentor_stream import topics
from mentor_stream.stream import Stream
from tests.streams import everything

ROOT = Path(__file__).parent.parent.parent
BATCH_GROUPS = 8


class Demo:
    """A short demo run in a directory of its own, and its supervisor."""

    def __init__(self, directory: Path, *, broker: str, versions: int) -> None:
        self.directory, self.broker = directory, broker
        self.name = f"demo-{uuid4().hex[:8]}"  # a cluster outlives the test
        self.config = directory / "short.toml"
        self.config.write_text(
            (ROOT / "examples/chain/demo.toml")
            .read_text()
            .replace('name = "demo"', f'name = "{self.name}"')
            .replace('"runs/demo"', f'"{directory}"')
            .replace("sqlite:///runs/demo/stream.db", broker)
            .replace("batch_groups = 16 ", f"batch_groups = {BATCH_GROUPS} ")
            .replace("max_tokens = 400_000 ", f"max_versions = {versions} ")
            .replace("checkpoint_every = 10 ", "checkpoint_every = 3 ")
        )
        self.supervisor: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def start(self, command: str = "up") -> subprocess.Popen[bytes]:
        with (self.directory / f"{command}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "mentor_stream.cli", command, str(self.config)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._started.append(process)
        if command == "up":
            self.supervisor = process
        return process

    def pid_of(self, component: str) -> int | None:
        """The process id of a component of the running supervisor."""
        command = {"trainer": "train", "feeder": "feed", "evaluator": "evaluate"}.get(component, component)
        assert self.supervisor is not None
        for listing in Path("/proc").glob(f"{self.supervisor.pid}/task/*/children"):
            for pid in listing.read_text().split():
                if f"\0{command}\0" in read(Path(f"/proc/{pid}/cmdline")):
                    return int(pid)
        return None

    def stream(self) -> AbstractAsyncContextManager[Stream]:
        """The run's stream, as the test sees it."""
        return streams.connect(self.broker, self.name, "test")

    def said(self) -> str:
        logs = [self.directory / "up.log", *sorted((self.directory / "logs").glob("*.log"))]
        return "\n".join(f"== {log.name}\n{read(log)[-3000:]}" for log in logs)


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


async def ended(process: subprocess.Popen[bytes]) -> int:
    return await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)


async def finish_what_is_left(demo: Demo, stream: Stream) -> None:
    """Let a worker and a mentor deal with what was under way when the run ended."""
    workers = [demo.start("rollout"), demo.start("mentor")]
    while sum(
        [
            await stream.lag(topics.QUERIES),
            await stream.lag(topics.GUIDED),
            await stream.lag(topics.COLLAPSED),
        ]
    ):
        assert [worker.poll() for worker in workers] == [None, None], demo.said()
        await anyio.sleep(0.2)
    for worker in workers:
        worker.terminate()
        await ended(worker)


async def check_that_nothing_is_lost(demo: Demo, stream: Stream) -> None:
    """Every question became a group, every collapsed group a diagnosis, every lesson a group.

    A mentor that was interrupted between a lesson and its diagnosis works on the case again, and may find by
    then that it is too old: there may be a lesson more than diagnoses name, and none less.
    """
    queries = await everything(stream, topics.QUERIES)
    lessons = await everything(stream, topics.GUIDED)
    collapsed = await everything(stream, topics.COLLAPSED)
    groups = await everything(stream, topics.GROUPS)
    diagnoses = await everything(stream, topics.DIAGNOSES)
    arrived = {group.group_id for group in [*groups, *collapsed]}
    asked = {schemas.group_id(demo.name, q.query_id, q.attempt) for q in [*queries, *lessons]}
    assert asked <= arrived
    assert {group.group_id for group in collapsed} == {d.group_id for d in diagnoses}
    assert {d.guided_query_id for d in diagnoses if d.guided_query_id} <= {q.query_id for q in lessons}
    assert {q.hint.group_id for q in lessons if q.hint} <= {d.group_id for d in diagnoses}
    assert sorted({q.position for q in queries}) == list(range(len({q.position for q in queries})))
    assert await everything(stream, topics.DEAD_LETTERS) == []


async def check_what_was_trained(demo: Demo, stream: Stream, *, versions: int) -> None:
    """Every version has its batch, of groups that are on the stream, each in one batch only."""
    groups = [*await everything(stream, topics.GROUPS), *await everything(stream, topics.COLLAPSED)]
    batches = [json.loads(line) for line in (demo.directory / "batches.jsonl").read_text().splitlines()]
    trained = [group for batch in batches for group in batch["groups"]]
    assert [batch["version"] for batch in batches] == list(range(versions))
    assert len(trained) == versions * BATCH_GROUPS
    assert len(set(trained)) == len(trained), "a group was trained twice"
    assert set(trained) <= {group.group_id for group in groups}
