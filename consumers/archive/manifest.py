"""What an archive says of itself: the run, its topics, what it holds of each partition, a digest. No I/O."""

from hashlib import sha256
from typing import Any

import msgspec

from mentor_stream.config import ConfigError, is_run_name

FORMAT = 1


class ArchiveError(ConfigError):
    """A file that is no archive, not a whole one, or cannot be written."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What is held of one partition."""

    partition: int
    first: int
    """Offset of the first message; of a partition without any it is `next`."""
    next: int
    """The offset behind the last one that was asked for."""
    messages: int
    bytes: int
    """Of keys, values and headers."""
    missing: int
    """Offsets that were asked for and hold no message: retention was faster, or a cluster has marks there."""
    since: float | None
    """Append time of the first message, seconds since the epoch."""
    until: float | None
    """Of the last one."""
    digest: str
    """SHA-256 over the messages in their order: offsets, times, keys, headers, values."""


class HeldTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic: how it was kept, and what is held of it."""

    name: str
    """Without the run."""
    max_message_bytes: int
    retention_seconds: float | None
    retention_bytes: int | None
    replication: int
    partitions: tuple[Held, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    format: int = FORMAT
    run: str
    source: str
    """The engine that the run was on."""
    exported_at: float
    since: float | None
    until: float | None
    topics: tuple[HeldTopic, ...]
    config: dict[str, dict[str, Any]] | None = None
    """What the run's config file says, without secrets; none of a run that is not that file's."""
    batches: str | None = None
    """The run's batches.jsonl: which groups each version was trained on."""

    @property
    def digest(self) -> str:
        """Of what is held: equal where the same messages stand in the same places, wherever from."""
        held = [(t.name, p.partition, p.first, p.next, p.digest) for t in self.topics for p in t.partitions]
        return sha256(msgspec.json.encode(held)).hexdigest()

    @property
    def messages(self) -> int:
        """How many there are in all."""
        return sum(held.messages for topic in self.topics for held in topic.partitions)


class _Sealed(msgspec.Struct, frozen=True):
    """A manifest with the digest of its own bytes."""

    manifest: msgspec.Raw
    seal: str


class _Format(msgspec.Struct, frozen=True):
    format: int


def encode(manifest: Manifest) -> bytes:
    """As JSON, sealed: what is changed is noticed."""
    data = msgspec.json.encode(manifest)
    return msgspec.json.encode(_Sealed(msgspec.Raw(data), sha256(data).hexdigest()))


def _checked(manifest: Manifest) -> Manifest:
    if not is_run_name(manifest.run):
        raise ArchiveError(f"{manifest.run!r} is no name of a run")
    for topic in manifest.topics:
        if [held.partition for held in topic.partitions] != list(range(len(topic.partitions))):
            raise ArchiveError(f"its partitions of {topic.name} are not those from 0 on")
    if len({topic.name for topic in manifest.topics}) < len(manifest.topics):
        raise ArchiveError("it holds a topic twice")
    return manifest


def decode(data: bytes) -> Manifest:
    """The manifest. Raises ArchiveError that says what is wrong, but not with which file."""
    try:
        sealed = msgspec.json.decode(data, type=_Sealed)
        if sha256(sealed.manifest).hexdigest() != sealed.seal:
            raise ArchiveError("what it says of itself was changed")
        found = msgspec.json.decode(sealed.manifest, type=_Format).format
        if found != FORMAT:
            raise ArchiveError(f"it is of format {found}, and this program reads {FORMAT}: use a newer one")
        return _checked(msgspec.json.decode(sealed.manifest, type=Manifest))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"what it says of itself cannot be read ({error})") from error
