"""An archive back into a stream, or into a folder as a run of its own."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from consumers.archive import restored, settings, sources
from consumers.archive.account import account
from consumers.archive.draft import drafted
from consumers.archive.manifest import ArchiveError, HeldTopic, Manifest
from consumers.archive.sinks import IntoStream, Nowhere, Sink
from consumers.archive.sources import Source
from consumers.archive.tally import Tallies
from mentor_stream import broker as brokers
from mentor_stream import disk, topics

Progress = Callable[[str, int, int], None]
"""Told, by topic, how many of how many messages are through."""


async def verify(progress: Progress, path: Path) -> dict[str, Any]:
    """Read all of it, and tell what it holds. Raises ArchiveError where it is not as it was written."""
    async with sources.opened(path) as source:
        await _put_back(path, source, Nowhere(), source.manifest, progress)
        return account(source.manifest) | {"file": str(path)}


async def restore_home(progress: Progress, path: Path, folder: Path) -> dict[str, Any]:
    """Into a folder: the stream and, where the archive has them, config and batches.jsonl.

    Files that are there are kept. Raises as `restore`.
    """
    disk.check_folder("TO", folder)
    stream = restored.url(folder / "stream.db")
    document = await restore(progress, path, stream, None)
    async with sources.opened(path) as source:
        manifest = source.manifest
    written: list[str] = []
    if manifest.config is not None:
        tables = settings.at_home(manifest.config, folder, stream)
        written += _placed(folder / "run.toml", settings.toml(tables))
    if manifest.batches is not None:
        written += _placed(folder / "batches.jsonl", manifest.batches)
    return document | {"written": written}


def _placed(path: Path, text: str) -> list[str]:
    """The file's name, if it was not there and is now, whole."""
    if path.exists():
        return []
    with drafted(path, force=False) as draft:
        draft.write_text(text)
    return [str(path)]


async def restore(progress: Progress, path: Path, url: str, run: str | None) -> dict[str, Any]:
    """Into the stream behind `url`, by default under the run's own name. Raises ConfigError, BrokerError."""
    restoring = brokers.restoring(url)
    async with sources.opened(path) as source:
        manifest = replace(source.manifest, run=run or source.manifest.run)
        if restored.is_in(path, url):
            raise ArchiveError(f"{path} is a stream already: let run.broker name it, {restored.url(path)}")
        known = await _is_there(url, manifest)
        if not known:
            async with restoring as restoration:
                await _put_back(path, source, IntoStream(restoration, manifest.run), manifest, progress)
    return account(manifest) | {"file": str(path), "of_run": source.manifest.run, "already_there": known}


async def _put_back(path: Path, source: Source, sink: Sink, manifest: Manifest, progress: Progress) -> None:
    """All of it, or nothing: what is not as the manifest says never appears."""
    held = {topic.name: topic for topic in manifest.topics}
    known = {name: topics.find(name, manifest.run) for name in held}
    tallies = {name: Tallies(len(topic.partitions)) for name, topic in held.items()}
    done = dict.fromkeys(held, 0)
    counts = {name: sum(part.messages for part in topic.partitions) for name, topic in held.items()}
    for name, topic in held.items():
        await sink.begin(known[name], len(topic.partitions), topic.max_message_bytes)
    async with aclosing(source.batches()) as batches:
        async for name, batch in batches:
            try:
                messages = tallies[name].add(batch)
            except (KeyError, ValueError, TypeError) as error:
                raise _changed(path, f"{name}: {error}") from error
            await sink.append(known[name], messages)
            done[name] += len(batch)
            progress(name, done[name], counts[name])
    _compare(path, held, tallies)
    await sink.finish(manifest)


def _compare(path: Path, held: Mapping[str, HeldTopic], tallies: Mapping[str, Tallies]) -> None:
    for name, topic in held.items():
        if strange := tallies[name].strange(topic.partitions):
            raise _changed(path, f"topic {name}, partition {strange.partition}")


def _changed(path: Path, where: str) -> ArchiveError:
    return ArchiveError(
        f"{path} was changed after it was written ({where} is not what its manifest says): nothing of it was "
        "taken. Export it again, or fetch it anew."
    )


async def _is_there(url: str, manifest: Manifest) -> bool:
    """Whether this very archive is there under that name. Raises ArchiveError where something else is."""
    async with brokers.connect(url) as broker:
        run, there = manifest.run, await broker.topics()
        copy = await restored.found(broker, run)
        if copy is not None and copy.digest == manifest.digest:
            return True
        taken = [topic.of(run) for topic in topics.ALL if topic.of(run) in there]
        if taken or copy is not None:
            raise ArchiveError(
                f"run {run!r} is there already ({', '.join(taken)}): give the copy another name behind a "
                "colon, CONFIG:NAME, or let run.broker name another file"
            )
    return False
