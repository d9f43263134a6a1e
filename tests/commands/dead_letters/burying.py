"""Records that no component can read, and the letters they become."""

from pathlib import Path

import anyio
import msgspec

import schemas
from mentor_stream import stream, topics
from mentor_stream.commands.dead_letters.letters import Letter
from mentor_stream.stream import Stream
from tests.builders import a_query
from tests.runs import url, write_config

NEWER = msgspec.msgpack.encode(
    msgspec.msgpack.decode(schemas.encode(a_query())) | {"version": 99, "mood": "\x1b[31msunny"}
)
HOSTILE = b"\x1b]0;owned\x07\x00\xff"
NAMED = msgspec.msgpack.encode({"schema": "\x1b[31mred\n", "version": 1})
"""The reason why it is refused quotes it."""


async def bury(run: Stream, topic: topics.Topic, *values: bytes) -> None:
    """Let a component meet these bytes on a topic."""
    async with run.broker.producer() as producer:
        for value in values:
            await producer.send(run.name(topic), b"key", value)
    async with run.reader(topic, start="earliest", follow=False) as found:
        async for _ in found:
            pass


def prepare(directory: Path, *values: bytes, run: str = "run") -> str:
    """A run with these values refused on its queries; its config."""

    async def main() -> None:
        async with stream.connect(url(directory), run, "rollout") as connected:
            await bury(connected, topics.QUERIES, *values)

    anyio.run(main, backend="trio")
    return write_config(directory, name=run)


def a_letter(topic: str = "run.queries", value: bytes | None = None, **changes: object) -> Letter:
    """One that may be requeued, unless changed."""
    held = schemas.DeadLetter(
        source="rollout",
        topic=topic,
        partition=0,
        offset=3,
        error="NewerRecord",
        key=b"key",
        value=schemas.encode(a_query()) if value is None else value,
        time=1.0,
    )
    return Letter(0, 1.0, len(held.value), msgspec.structs.replace(held, **changes), held.error)
