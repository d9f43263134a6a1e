"""What a consumer fetches, as messages of the contract."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer as RawConsumer

from mentor_stream.broker.base import BUFFER_BYTES, Message
from mentor_stream.broker.kafka.client import CLOSE_SECONDS
from mentor_stream.broker.kafka.settings import ConnectionSettings

FETCH_BYTES = BUFFER_BYTES // 4
"""The most that a node answers at once, unless the first message alone is more. A client holds up to two such
answers of each node: one that it takes apart, and the next, which has other partitions."""


def consumer_options(settings: ConnectionSettings) -> dict[str, Any]:
    """kafka-python's options for reading in or outside a group.

    No deserializer: one that raises would make every later poll raise too.
    """
    return {
        "enable_auto_commit": False,
        # a position that the partition does not have is an error, and intake.py's: never a silent jump
        "auto_offset_reset": "none",
        "allow_auto_create_topics": False,
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": FETCH_BYTES,
        "session_timeout_ms": round(settings.session_timeout * 1000),
        "heartbeat_interval_ms": round(settings.session_timeout * 1000 / 5),
        "max_poll_interval_ms": round(settings.stall_timeout * 1000),
        "metrics_enabled": False,
    }


def messages(found: Mapping[Any, Iterable[Any]]) -> Sequence[Message]:
    """What a poll found, in its order."""
    return [
        Message(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            key=record.key or b"",
            value=record.value or b"",
            timestamp=record.timestamp / 1000,
            headers=tuple((name, text or b"") for name, text in record.headers),
        )
        for records in found.values()
        for record in records
    ]


def close(raw: RawConsumer) -> None:
    """Leave the group, if any, and disconnect."""
    raw.close(autocommit=False, timeout_ms=round(CLOSE_SECONDS * 1000))
