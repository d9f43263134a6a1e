"""Where messages go: into a Parquet file, or into a stream of SQLite."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from anyio import to_thread

from consumers.archive import restored
from consumers.archive.manifest import ArchiveError, Manifest
from mentor_stream import broker as brokers
from mentor_stream.broker import Message, Restoration, TopicSpec
from mentor_stream.topics import Topic

SUFFIXES = (".parquet", ".db")


class Sink(Protocol):
    """Takes a run, topic by topic."""

    async def begin(self, topic: Topic[Any], partitions: int, max_bytes: int) -> None:
        """Messages of this topic follow."""
        ...

    async def append(self, topic: Topic[Any], messages: Sequence[Message]) -> None:
        """Some of them."""
        ...

    async def finish(self, manifest: Manifest) -> None:
        """That was all: without this it is nothing."""
        ...


class _IntoParquet:
    def __init__(self, path: Path) -> None:
        from consumers.archive.parquet import Writer

        self._writer = Writer(path)

    async def begin(self, topic: Topic[Any], partitions: int, max_bytes: int) -> None:
        """See Sink."""

    async def append(self, topic: Topic[Any], messages: Sequence[Message]) -> None:
        """See Sink."""
        await to_thread.run_sync(self._writer.append, topic, messages)

    async def finish(self, manifest: Manifest) -> None:
        """See Sink."""
        await to_thread.run_sync(self._writer.close, manifest)


class IntoStream:
    """Into the stream behind a restoration, as the run called `run`."""

    def __init__(self, restoration: Restoration, run: str) -> None:
        self._restoration, self._run = restoration, run

    async def begin(self, topic: Topic[Any], partitions: int, max_bytes: int) -> None:
        """See Sink. A copy forgets nothing, whatever retention the topic had."""
        spec = TopicSpec(topic.of(self._run), partitions, max_message_bytes=max_bytes)
        await self._restoration.begin(spec)

    async def append(self, topic: Topic[Any], messages: Sequence[Message]) -> None:
        """See Sink."""
        await self._restoration.append(topic.of(self._run), messages)

    async def finish(self, manifest: Manifest) -> None:
        """See Sink."""
        await restored.finish(self._restoration, self._run, manifest)


class Nowhere:
    """For who only looks."""

    async def begin(self, topic: Topic[Any], partitions: int, max_bytes: int) -> None:
        """See Sink."""

    async def append(self, topic: Topic[Any], messages: Sequence[Message]) -> None:
        """See Sink."""

    async def finish(self, manifest: Manifest) -> None:
        """See Sink."""


@asynccontextmanager
async def into_file(path: Path, draft: Path, run: str) -> AsyncGenerator[Sink]:
    """Writes to `draft` what is to be `path`, whose suffix says how. Raises ArchiveError."""
    if path.suffix == ".parquet":
        yield _IntoParquet(draft)
    else:
        draft_url = (
            f"{restored.url(draft)}?synchronous=normal"  # until it is whole it need not survive anything
        )
        async with brokers.restoring(draft_url) as restoration:
            yield IntoStream(restoration, run)


def check(path: Path) -> None:
    """Raises ArchiveError for a name that says nothing of how to write it, and where a library is missing."""
    if path.suffix not in SUFFIXES:
        raise ArchiveError(
            f"{path}: name a file that ends in {' or '.join(SUFFIXES)}. Parquet is for pandas and the like, "
            "a .db is used as it is: run.broker = sqlite:///out.db"
        )
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ArchiveError(f"{path}: Parquet needs pyarrow (pip install pyarrow), or name a .db")
