"""Where an archive's messages come from: a Parquet file, or one of SQLite."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from consumers.archive import restored
from consumers.archive.manifest import ArchiveError, Manifest
from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, BrokerError, Message


class Source(Protocol):
    """An archive that is read."""

    @property
    def manifest(self) -> Manifest:
        """What it says of itself."""
        ...

    def batches(self) -> AsyncGenerator[tuple[str, list[Message]]]:
        """Messages by the name of their topic, some MB at a time. Raises ArchiveError, BrokerError."""
        ...


class _Parquet:
    def __init__(self, path: Path) -> None:
        from consumers.archive.parquet import Archive

        self._archive = Archive(path)

    @property
    def manifest(self) -> Manifest:
        """See Source."""
        return self._archive.manifest

    async def batches(self) -> AsyncGenerator[tuple[str, list[Message]]]:
        """See Source."""
        found = self._archive.batches()
        while (batch := await to_thread.run_sync(next, found, None)) is not None:
            yield batch


class _Database:
    def __init__(self, path: Path, broker: Broker, manifest: Manifest) -> None:
        self._path, self._broker, self.manifest = path, broker, manifest

    async def batches(self) -> AsyncGenerator[tuple[str, list[Message]]]:
        """See Source."""
        try:
            async with aclosing(restored.batches(self._broker, self.manifest)) as found:
                async for batch in found:
                    yield batch
        except BrokerError as error:
            raise _unreadable(self._path, error) from error


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Source]:
    """The archive in a file. Raises ArchiveError for one that is none, or no whole one."""
    if not path.is_file():
        raise ArchiveError(f"{path}: {'it is no file' if path.exists() else 'there is no such file'}.")
    if path.suffix == ".parquet":
        yield await to_thread.run_sync(_Parquet, path)
        return
    _check_database(path)
    async with AsyncExitStack() as stack:
        try:
            broker = await stack.enter_async_context(brokers.connect(restored.url(path), create=False))
            manifest = await restored.found(broker)
        except restored.SeveralArchives as error:
            raise ArchiveError(
                f"{path}: {error}. Export the one that is meant to a file of its own: CONFIG:RUN, where "
                f"run.broker is {restored.url(path)}"
            ) from error
        except (ArchiveError, BrokerError) as error:
            raise _unreadable(path, error) from error
        if manifest is None:
            raise ArchiveError(f"{path} is no archive of a run: mentor-stream export writes them.")
        yield _Database(path, broker, manifest)


def _check_database(path: Path) -> None:
    """Raises ArchiveError for a file that SQLite would make a stream of, and where it could not work."""
    if not path.stat().st_size:
        raise ArchiveError(f"{path} is empty: export it again, or fetch it anew.")
    if not all(os.access(place, os.W_OK) for place in (path, path.parent)):
        raise ArchiveError(
            f"{path} lies where nothing may be written, and SQLite must, beside what it reads: copy it to "
            "another place first."
        )


def _unreadable(path: Path, error: Exception) -> ArchiveError:
    return ArchiveError(f"{path} is damaged, cut or no archive: {str(error).rstrip('.')}.")
