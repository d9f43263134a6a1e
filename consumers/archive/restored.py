"""A run put back into a stream of SQLite: a file of its own that is used as it is, or beside other runs.

One topic more, `<run>.archive`, holds the manifest: by it the copy is known again.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from urllib.parse import quote, unquote

from consumers.archive import manifest, recorded
from consumers.archive.manifest import ArchiveError, Manifest
from mentor_stream.broker import (
    EARLIEST,
    Broker,
    Message,
    Restoration,
    TopicPartition,
    TopicSpec,
    UnknownTopic,
)

ARCHIVE = "archive"
MANIFEST_BYTES = 60 * 2**20


class SeveralArchives(ArchiveError):
    """A stream to which more than one run was copied."""


def url(path: Path) -> str:
    """The stream in a file."""
    return f"sqlite:///{quote(str(path))}"


def is_in(path: Path, url: str) -> bool:
    """Whether that stream is in this file."""
    scheme, _, rest = url.partition(":///")
    if scheme != "sqlite" or not os.path.exists(path):  # noqa: PTH110 - a name that is too long is none
        return False
    stream = Path(unquote(rest.partition("?")[0]))
    return stream.exists() and stream.samefile(path)


async def finish(restoration: Restoration, run: str, of: Manifest) -> None:
    """All of the run's messages are there: add the manifest, and let the topics appear."""
    name = f"{run}.{ARCHIVE}"
    await restoration.begin(TopicSpec(name, max_message_bytes=MANIFEST_BYTES))
    message = Message(name, 0, 0, of.run.encode(), manifest.encode(of), of.exported_at)
    await restoration.append(name, [message])
    ends = {
        TopicPartition(f"{run}.{topic.name}", held.partition): held.next
        for topic in of.topics
        for held in topic.partitions
    }
    await restoration.publish({**ends, TopicPartition(name, 0): 1})


async def found(broker: Broker, run: str | None = None) -> Manifest | None:
    """The manifest of a copied run, by default of the only one there is; None for a run that is no copy.

    Raises ArchiveError.
    """
    names = [name for name in await broker.topics() if name.endswith(f".{ARCHIVE}")]
    wanted = names if run is None else [name for name in names if name == f"{run}.{ARCHIVE}"]
    if len(wanted) > 1:
        runs = ", ".join(sorted(name.removesuffix(f".{ARCHIVE}") for name in wanted))
        raise SeveralArchives(f"it holds several runs ({runs})")
    for name in wanted:
        async with broker.reader({TopicPartition(name, 0): EARLIEST}, follow=False) as reader:
            async for message in reader:
                return manifest.decode(message.value)
    return None


async def batches(broker: Broker, of: Manifest) -> AsyncGenerator[tuple[str, list[Message]]]:
    """Messages by the name of their topic. Raises ArchiveError, BrokerError."""
    for topic in of.topics:
        span = recorded.whole(f"{of.run}.{topic.name}", topic)
        try:
            async with aclosing(recorded.batches(broker, span)) as found:
                async for batch in found:
                    yield topic.name, batch
        except UnknownTopic as error:
            raise ArchiveError(f"{error}") from error
