"""A run out into a file."""

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consumers.archive import recorded, restored, settings, sinks
from consumers.archive.account import account
from consumers.archive.draft import drafted
from consumers.archive.manifest import ArchiveError, HeldTopic, Manifest
from consumers.archive.recorded import Span
from consumers.archive.sinks import Sink
from consumers.archive.tally import Tallies
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import Broker
from mentor_stream.topics import Topic

MOST_BATCHES_BYTES = 32 * 2**20
"""A million groups; more is left to be copied by itself."""
Progress = Callable[[str, int, int], None]
"""Told, by topic, how many of how many messages are through."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """What becomes a file."""

    url: str
    run: str
    config: Path | None
    """The run's own config file, and the next its batches.jsonl, to go along."""
    batches: Path | None
    path: Path
    topics: Sequence[str]
    """None named: all there are."""
    since: float | None
    until: float | None
    force: bool


async def export(request: Export, progress: Progress) -> dict[str, Any]:
    """Write the file; what is told of it. Raises ConfigError, ArchiveError, BrokerError."""
    sinks.check(request.path)
    config, left_out = settings.shareable(request.config) if request.config else (None, [])
    batches = _batches(request.batches)  # before the ends are looked at: its groups are among those that come
    if restored.is_in(request.path, request.url):
        raise ArchiveError(f"{request.path} is the stream itself: name another file.")
    wanted = [topics.find(name, request.run) for name in request.topics] or list(topics.ALL)
    async with brokers.connect(request.url, create=False) as broker:
        there = await broker.topics()
        found = [topic for topic in topics.ALL if topic in wanted and topic.of(request.run) in there]
        if not found:
            raise ArchiveError(
                f"the broker has no topic of run {request.run!r}: correct run.name, or the name behind "
                "the colon"
            )
        spans = {topic: await _span(broker, topic, request) for topic in found}
        with drafted(request.path, force=request.force) as draft:
            async with sinks.into_file(request.path, draft, request.run) as sink:
                held = [
                    await _copied(broker, request.run, topic, spans[topic], sink, progress) for topic in found
                ]
                manifest = Manifest(
                    run=request.run,
                    source=request.url.partition(":")[0],
                    exported_at=time.time(),
                    since=request.since,
                    until=request.until,
                    topics=tuple(held),
                    config=config,
                    batches=batches,
                )
                await sink.finish(manifest)
    absent = [topic.name for topic in wanted if topic not in found]
    size = request.path.stat().st_size
    return account(manifest) | {
        "file": str(request.path),
        "file_bytes": size,
        "absent": absent,
        "left_out": left_out,
    }


def _batches(path: Path | None) -> str | None:
    """Whole lines: the trainer may be at one just now."""
    if path is None or not path.is_file() or path.stat().st_size > MOST_BATCHES_BYTES:
        return None
    try:
        content = path.read_bytes()
        return content[: content.rfind(b"\n") + 1].decode()
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{path} cannot be read: {error}. Move it away to export without it.") from error


async def _span(broker: Broker, topic: Topic[Any], request: Export) -> Span:
    return await recorded.span(broker, topic.of(request.run), request.since, request.until)


async def _copied(
    broker: Broker, run: str, topic: Topic[Any], span: Span, sink: Sink, progress: Progress
) -> HeldTopic:
    """Put a topic into the sink; what is held of it then."""
    spec = (await broker.describe(topic.of(run))).spec
    tallies, done = Tallies(len(span.wanted)), 0
    await sink.begin(topic, len(span.wanted), spec.max_message_bytes)
    async with aclosing(recorded.batches(broker, span)) as batches:
        async for batch in batches:
            await sink.append(topic, tallies.add(batch))
            done += len(batch)
            progress(topic.name, done, span.count)
    return HeldTopic(
        name=topic.name,
        max_message_bytes=spec.max_message_bytes,
        retention_seconds=spec.retention_seconds,
        retention_bytes=spec.retention_bytes,
        replication=spec.replication,
        partitions=tallies.held(span.bounds),
    )
