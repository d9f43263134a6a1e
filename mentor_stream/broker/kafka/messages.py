"""What a consumer polls, as messages of the contract."""

import logging

from kafka import KafkaConsumer as RawConsumer

from mentor_stream.broker.base import Message
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, POLL_SECONDS, RETRIABLE
from mentor_stream.broker.kafka.settings import ConnectionSettings

log = logging.getLogger(__name__)


def consumer_options(settings: ConnectionSettings) -> dict[str, object]:
    """kafka-python's options for reading in or outside a group.

    No deserializer: one that raises would make every later poll raise too.
    """
    return {
        "enable_auto_commit": False,
        # also where reading goes on after retention took the offset we were at
        "auto_offset_reset": "earliest",
        "allow_auto_create_topics": False,
        "session_timeout_ms": round(settings.session_timeout * 1000),
        "heartbeat_interval_ms": round(settings.session_timeout * 1000 / 5),
        "metrics_enabled": False,
    }


def poll(raw: RawConsumer, most: int, seconds: float = POLL_SECONDS) -> list[Message]:
    """At most `most` messages, waiting a while for the first; none while the cluster is away."""
    try:
        found = raw.poll(timeout_ms=round(seconds * 1000), max_records=most)
    except RETRIABLE as error:
        log.warning("the cluster is away: %s", error)
        return []
    return [
        Message(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            key=record.key or b"",
            value=record.value or b"",
            timestamp=record.timestamp / 1000,
            headers=tuple(record.headers),
        )
        for records in found.values()
        for record in records
    ]


def close(raw: RawConsumer) -> None:
    """Leave the group, if any, and disconnect."""
    raw.close(autocommit=False, timeout_ms=round(CLOSE_SECONDS * 1000))
