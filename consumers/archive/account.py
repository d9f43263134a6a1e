"""What is told of an archive. No I/O."""

from typing import Any

from consumers.archive.manifest import HeldTopic, Manifest


def account(manifest: Manifest) -> dict[str, Any]:
    """For a program; times are seconds since the epoch."""
    return {
        "run": manifest.run,
        "digest": manifest.digest,
        "messages": manifest.messages,
        "missing": sum(held.missing for topic in manifest.topics for held in topic.partitions),
        "since": manifest.since,
        "until": manifest.until,
        "topics": [_topic(topic) for topic in manifest.topics],
    }


def _topic(topic: HeldTopic) -> dict[str, Any]:
    begins = [held.since for held in topic.partitions if held.since is not None]
    ends = [held.until for held in topic.partitions if held.until is not None]
    return {
        "topic": topic.name,
        "messages": sum(held.messages for held in topic.partitions),
        "bytes": sum(held.bytes for held in topic.partitions),
        "missing": sum(held.missing for held in topic.partitions),
        "first_time": min(begins, default=None),
        "last_time": max(ends, default=None),
        "partitions": {f"{held.partition}": [held.first, held.next] for held in topic.partitions},
    }
