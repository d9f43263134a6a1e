"""Collapsed groups on a stream, and a mentor process that works on them."""

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import anyio

import schemas
from mentor_stream import topics
from mentor_stream.stream import connect
from schemas import FinishReason, Group, Origin, Query, Sampling, Trajectory, Verdict, VersionRun

RUN = "benchmark"
SENDERS = 256
CONFIG = """
[run]
name = "{run}"
directory = "{directory}"
broker = "{url}"
policy = "{directory}"
max_versions = 1

[data]
train = "nobody-reads-this.jsonl"

[reward]
verifier = {{ kind = "math" }}

[mentor]
concurrency = {concurrency}
max_backlog = {backlog}
guide = {{ kind = "fdcg", agents = {{ kind = "llm", model = "m", base_url = "{endpoint}" }} }}
"""
_WORDS = (
    "carry",
    "the",
    "sum",
    "over",
    "to",
    "next",
    "column",
    "and",
    "add",
    "what",
    "remains",
    "then",
    "check",
)


def url(directory: Path) -> str:
    """A stream in a directory; nothing here is about durability."""
    return f"sqlite:///{directory.resolve()}/stream.db?synchronous=normal"


def groups(count: int, tokens: int) -> Iterator[Group]:
    """Collapsed groups of 4 trajectories of so many tokens each, every one of another question."""
    random = Random(0)
    for number in range(count):
        query = Query(
            query_id=schemas.query_id(RUN, number), origin=Origin.PLAIN, position=number, attempt=0,
            question=f"What is {number} plus {number + 7}?", reference=str(2 * number + 7),
        )  # fmt: skip
        yield Group(
            group_id=schemas.group_id(RUN, query.query_id, 0), query=query,
            trajectories=tuple(_trajectory(random, tokens) for _ in range(4)),
            sampling=Sampling(temperature=1.0), worker="benchmark", sampled_at=float(number),
        )  # fmt: skip


def _trajectory(random: Random, tokens: int) -> Trajectory:
    return Trajectory(
        prompt_ids=schemas.ids([1] * 20), completion_ids=schemas.ids([2] * tokens),
        logprobs=schemas.floats([-0.5] * tokens), policy=(VersionRun(policy_version=0, count=tokens),),
        text=" ".join(random.choices(_WORDS, k=tokens)), reward=0.0, verdict=Verdict.WRONG,
        finish_reason=FinishReason.STOP, remark="expected another number",
    )  # fmt: skip


async def publish(directory: Path, count: int, *, tokens: int) -> None:
    """Put that many cases on the stream in a directory."""
    waiting = groups(count, tokens)
    async with connect(url(directory), RUN, "benchmark") as stream:

        async def send() -> None:
            for group in waiting:
                await stream.publish(topics.COLLAPSED, group)

        async with anyio.create_task_group() as senders:
            for _ in range(SENDERS):
                senders.start_soon(send)


@contextmanager
def mentor(
    directory: Path, endpoint: str, *, concurrency: int, backlog: str
) -> Generator[subprocess.Popen[bytes]]:
    """A mentor process for the block."""
    config = directory / f"{concurrency}.toml"
    config.write_text(
        CONFIG.format(
            run=RUN, directory=directory.resolve(), url=url(directory), concurrency=concurrency,
            backlog=backlog, endpoint=endpoint,
        )
    )  # fmt: skip
    command = [sys.executable, "-m", "mentor_stream.cli", "mentor", str(config)]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()
