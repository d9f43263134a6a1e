"""A recorded stream on the SQLite broker, and the trainer as a real process on it."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec

import schemas
from mentor_stream import broker, topics
from mentor_stream import stream as streams
from mentor_stream.broker import TopicSpec
from mentor_stream.stream import Stream
from mentor_stream.topics import Topic
from schemas import Group, Metric, PolicyRelease
from tests.builders import a_guided_query
from tests.trainer.policies import sampled_groups
from trainer.checkpoint import Checkpoints, Loaded

RUN = "t"
CONFIG = """
[run]
name = "t"
directory = "{directory}"
broker = "sqlite:///{directory}/stream.db"
policy = "{policy}"
batch_groups = 4
max_staleness = 50
{run}

[data]
train = "none.jsonl"

[trainer]
lr = 1e-2
checkpoint_every = 2
max_guided_fraction = 0.5
{trainer}
"""

T = TypeVar("T")


class Recording:
    """One run's directory, stream and trainer."""

    def __init__(self, directory: Path, policy: Path) -> None:
        self.directory, self.policy = directory, policy
        directory.mkdir(parents=True, exist_ok=True)

    def configure(self, run: str = "", trainer: str = "") -> None:
        text = CONFIG.format(directory=self.directory, policy=self.policy, run=run, trainer=trainer)
        (self.directory / "run.toml").write_text(text)

    def append(self, groups: Sequence[Group]) -> None:
        """Put groups on the stream; those without a right answer count as collapsed."""
        self._call(partial(_append, groups=groups))

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-m", "trainer"]
        return subprocess.Popen(
            [*command, str(self.directory / "run.toml")],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=(self.directory / "log").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that all of it can be sent a signal
        )

    def finish(self) -> None:
        """Run the trainer to its end."""
        process = self.start()
        assert process.wait(120) == 0, self.log()

    def log(self) -> str:
        return (self.directory / "log").read_text()

    def releases(self) -> list[PolicyRelease]:
        return self._read(topics.POLICIES)

    def measured(self, name: str) -> dict[int, float]:
        """One metric by version, the last word on each."""
        metrics: list[Metric] = self._read(topics.METRICS)
        return {m.policy_version: m.values[name] for m in metrics if m.policy_version is not None}

    def checkpoint(self) -> Loaded | None:
        """What the trainer would go on from."""
        return Checkpoints(self.directory / "checkpoints", self.policy, keep=2).newest()

    def dead_letters(self) -> list[schemas.DeadLetter]:
        return self._read(topics.DEAD_LETTERS)

    def await_release(
        self, process: subprocess.Popen[bytes], wanted: Callable[[PolicyRelease], bool]
    ) -> None:
        """Wait until the trainer announces a policy."""

        async def wait(stream: Stream) -> None:
            with anyio.fail_after(120):
                async with stream.reader(topics.POLICIES, start="earliest") as releases:
                    async for release in releases:
                        if wanted(release.record):
                            return
                        assert process.poll() is None, self.log()

        self._call(wait)

    def _read(self, topic: Topic[Any]) -> list[Any]:
        async def read(stream: Stream) -> list[Any]:
            async with stream.reader(topic, start="earliest", follow=False) as deliveries:
                return [d.record async for d in deliveries]

        return self._call(read)

    def _call(self, use: Callable[[Stream], Awaitable[T]]) -> T:
        url = f"sqlite:///{self.directory}/stream.db"

        async def main() -> T:
            # One partition each, so that the order of reading is the order of writing.
            async with broker.connect(url) as engine:
                await engine.create_topics([TopicSpec(f"{RUN}.groups"), TopicSpec(f"{RUN}.collapsed")])
            async with streams.connect(url, RUN, "test") as stream:
                return await use(stream)

        return anyio.run(main, backend="trio")


async def _append(stream: Stream, *, groups: Sequence[Group]) -> None:
    for group in groups:
        collapsed = all(t.reward == 0.0 for t in group.trajectories)
        await stream.publish(topics.COLLAPSED if collapsed else topics.GROUPS, group)


def mixed_groups(policy: Path, count: int) -> list[Group]:
    """Groups of which three in five are guided, so that guided ones wait for their share."""
    return [
        msgspec.structs.replace(group, query=a_guided_query(group.query)) if i % 5 < 3 else group
        for i, group in enumerate(sampled_groups(policy, count))
    ]
