"""An engine and a judge that do as a test says, and a config and releases around them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

import anyio

import schemas
from mentor_stream import snapshots, topics
from mentor_stream.config import Config, RunConfig, Section
from mentor_stream.stream import Stream
from mentor_stream.topics import TopicsConfig
from producers.engines.base import Lanes, Sample
from producers.judging.verdicts import Score
from schemas import Consumed, FinishReason, PolicyRelease, Query, Sampling, Verdict, VersionRun
from tests.streams import everything

SIX = 10
"""The token of the word 6 in the tiny policies' vocabulary."""


class ScriptedEngine:
    """Answers every prompt with 6; says what it was asked and with which version."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.lanes = Lanes()
        self.calls: list[tuple[int | None, list[list[int]]]] = []

    def running(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def load(self, path: Path, version: int) -> None:
        await anyio.lowlevel.checkpoint()
        self.version = version

    async def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        samples: int,
        sampling: Sampling,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Sample]]:
        await anyio.lowlevel.checkpoint()
        self.calls.append((self.version, [list(p) for p in prompts]))
        assert self.version is not None
        sample = Sample(
            completion_ids=[SIX, 2],
            logprobs=[-0.5, -0.5],
            policy=(VersionRun(policy_version=self.version, count=2),),
            finish_reason=FinishReason.STOP,
        )
        return [[sample] * samples for _ in prompts]


class ScriptedJudge:
    """Right is who says the reference; `gate` holds every verdict back until it is opened."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.gate.set()

    async def score(self, query: Query, completions: Sequence[str]) -> list[Score]:
        await self.gate.wait()
        if query.reference == "unscorable":
            return [Score(Verdict.UNSCORABLE, None, "no judge") for _ in completions]
        right = [text == query.reference for text in completions]
        return [Score(Verdict.RIGHT if r else Verdict.WRONG, float(r), "") for r in right]


def a_config(directory: Path, policy: Path, *sections: Section, **run: Any) -> Config:
    """A run on a SQLite broker in `directory`."""
    fixed = {"name": "test", "directory": directory, "policy": policy}
    broker = {"broker": f"sqlite:///{directory}/stream.db?lease=2"}
    whole = RunConfig(**(fixed | broker | run))
    every = (whole, TopicsConfig(), *sections)
    return Config(path=directory / "run.toml", sections={section.table: section for section in every})


async def release(
    stream: Stream,
    directory: Path,
    version: int,
    *,
    final: bool = False,
    tokens: int = 0,
    policy: Path | None = None,
) -> PolicyRelease:
    """Write a snapshot (of `policy`, or an empty one) and publish it as this version."""

    def fill(place: Path) -> None:
        for file in policy.iterdir() if policy else ():
            (place / file.name).write_bytes(file.read_bytes())
        (place / "note.txt").write_text(f"version {version}")

    snapshot = snapshots.write(directory / "snapshots", version, fill)
    record = PolicyRelease(
        policy_version=version,
        step=version,
        uri=str(snapshot.path),
        digest=snapshot.digest,
        consumed=Consumed(tokens=tokens),
        final=final,
        published_at=0.0,
    )
    await stream.publish(topics.POLICIES, record)
    return record


async def eventually(condition: Callable[[], Any], seconds: float = 10) -> None:
    """Wait until the condition holds."""
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.01)


async def arrived(stream: Stream, topic: topics.Topic[Any], count: int, seconds: float = 10) -> list[Any]:
    """The records of a topic, once there are `count` of them."""
    with anyio.fail_after(seconds):
        while len(found := await everything(stream, topic)) < count:
            await anyio.sleep(0.02)
    return found


def group_ids(records: Sequence[schemas.Group]) -> set[str]:
    """Which groups these are."""
    return {record.group_id for record in records}
