"""Questions to the cluster about topics, offsets and groups, and the creation of topics."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
from kafka import errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import (
    Bounds,
    BrokerError,
    BrokerUnavailable,
    TopicPartition,
    TopicSpec,
    UnknownTopic,
)
from mentor_stream.broker.kafka.client import RETRIABLE, Client

RawAdmin = Any
"""A KafkaAdminClient. The type stubs in circulation are of kafka-python 2, where it could do less."""
P = ParamSpec("P")
T = TypeVar("T")

FRAMING_BYTES = 4096
"""Room in max.message.bytes for what travels with a value: key, headers and the frame around them."""
RETRY_SECONDS = 0.2
NEW_TOPIC_SECONDS = 0.5
"""A topic just created may not have reached every broker: so long nobody calls it unknown."""

_FIRST, _END = -2, -1
"""Where a partition begins and ends, in the protocol's terms."""


class Admin:
    """Answers from the cluster. A question is put again until it is answered or connect_timeout is over."""

    def __init__(self, client: Client[RawAdmin]) -> None:
        self._client = client
        self._limits: dict[str, int] = {}

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """Create those that do not exist and wait until they can be used. Raises BrokerError."""
        if specs:
            await self._ask(_create, specs, self._client.settings.replication)

    async def topics(self) -> dict[str, int]:
        """Partition counts of all topics but Kafka's own."""
        return await self._ask(_topics)

    async def bounds(self, topic: str) -> dict[TopicPartition, Bounds]:
        """Kept range per partition. Raises UnknownTopic."""
        return await self._ask(_bounds, topic)

    async def offsets_at(self, topic: str, timestamp: float) -> dict[TopicPartition, int]:
        """First offset at or after the timestamp (seconds), or the end. Raises UnknownTopic."""
        return await self._ask(_offsets_at, topic, timestamp)

    async def lag(self, topic: str, group: str) -> int:
        """Kept messages that the group has not committed. Raises UnknownTopic."""
        return await self._ask(_lag, topic, group)

    async def message_limit(self, topic: str) -> int:
        """Bytes that a value of the topic may have. Raises UnknownTopic."""
        if topic not in self._limits:
            self._limits[topic] = await self._ask(_message_limit, topic)
        return self._limits[topic]

    async def _ask(
        self,
        question: Callable[Concatenate[RawAdmin, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        started = anyio.current_time()
        while True:
            try:
                return await self._client.call(question, *args, **kwargs)
            except UnknownTopic:
                if anyio.current_time() - started > NEW_TOPIC_SECONDS:
                    raise
            except BrokerUnavailable:
                if anyio.current_time() - started > self._client.settings.connect_timeout:
                    raise
            await anyio.sleep(RETRY_SECONDS)


def _create(admin: RawAdmin, specs: Sequence[TopicSpec], replication: int) -> None:
    wanted = {
        spec.name: {
            "num_partitions": spec.partitions,
            "replication_factor": max(spec.replication, replication),
            "configs": topic_config(spec),
        }
        for spec in specs
    }
    answers = admin.create_topics(wanted, raise_errors=False)["topics"]
    for answer in answers:
        error = errors.for_code(answer["error_code"])
        if error not in (errors.NoError, errors.TopicAlreadyExistsError):
            if issubclass(error, RETRIABLE):
                raise error(answer["error_message"])
            raise BrokerError(f"topic {answer['name']} cannot be created: {answer['error_message']}")
    admin.wait_for_topics(list(wanted))


def topic_config(spec: TopicSpec) -> dict[str, str]:
    """The Kafka configuration of a topic.

    Kafka deletes whole segments, and never the one being written: segments are cut to a quarter of what
    is kept, so that no more than a quarter too much is.
    """
    largest = spec.max_message_bytes + FRAMING_BYTES
    config = {
        "cleanup.policy": "delete",
        "message.timestamp.type": "LogAppendTime",
        "max.message.bytes": largest,
        "retention.ms": -1,
        "retention.bytes": -1,
    }
    if spec.retention_seconds is not None:
        kept = math.ceil(spec.retention_seconds * 1000)
        config |= {"retention.ms": kept, "segment.ms": max(1000, kept // 4)}
    if spec.retention_bytes is not None:
        segment = min(2**30, max(2**20, largest, spec.retention_bytes // 4))
        config |= {"retention.bytes": spec.retention_bytes, "segment.bytes": segment}
    return {name: str(value) for name, value in config.items()}


def _topics(admin: RawAdmin) -> dict[str, int]:
    found = (topic for topic in admin.describe_topics() if not topic["is_internal"])
    return {topic["name"]: len(topic["partitions"]) for topic in found}


def _partitions(admin: RawAdmin, topic: str) -> list[KafkaPartition]:
    (found,) = admin.describe_topics([topic])
    if found["error_code"]:
        raise errors.for_code(found["error_code"])(f"topic {topic}")
    return [KafkaPartition(topic, partition["partition_index"]) for partition in found["partitions"]]


def _offsets(admin: RawAdmin, places: Sequence[KafkaPartition], which: int) -> dict[KafkaPartition, int]:
    found = admin.list_partition_offsets(dict.fromkeys(places, which))
    return {place: answer.offset for place, answer in found.items()}


def _bounds(admin: RawAdmin, topic: str) -> dict[TopicPartition, Bounds]:
    places = _partitions(admin, topic)
    first = _offsets(admin, places, _FIRST)
    following = _offsets(admin, places, _END)
    return {TopicPartition(*place): Bounds(first[place], following[place]) for place in places}


def _offsets_at(admin: RawAdmin, topic: str, timestamp: float) -> dict[TopicPartition, int]:
    places = _partitions(admin, topic)
    # the end is asked for first: what arrives in between must not be skipped
    ends = _offsets(admin, places, _END)
    found = _offsets(admin, places, max(0, math.ceil(timestamp * 1000)))
    return {TopicPartition(*place): found[place] if found[place] >= 0 else ends[place] for place in places}


def _lag(admin: RawAdmin, topic: str, group: str) -> int:
    bounds = _bounds(admin, topic)
    places = [KafkaPartition(*place) for place in bounds]
    committed = admin.list_group_offsets({group: places})[group]
    # an offset of -1 says that nothing was committed
    return sum(b.next - max(b.first, committed[KafkaPartition(*place)].offset) for place, b in bounds.items())


def _message_limit(admin: RawAdmin, topic: str) -> int:
    name = "max.message.bytes"
    wanted = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: ""})
    found: Mapping[str, Mapping[str, str]] = admin.describe_configs([wanted])["topic"][topic]
    if name not in found:
        raise errors.UnknownTopicOrPartitionError(f"topic {topic}")
    return int(found[name]["value"]) - FRAMING_BYTES
