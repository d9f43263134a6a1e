"""Topics: how they are made, changed and found. For the admin client's thread; admin.py asks."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from kafka import errors
from kafka.admin import ConfigResource, ConfigResourceType

from mentor_stream.broker import sizes
from mentor_stream.broker.base import BrokerError, TopicSpec, TopicState
from mentor_stream.broker.kafka.meaning import RETRIABLE

RawAdmin = Any
"""A KafkaAdminClient. The type stubs in circulation are of kafka-python 2, where it could do less."""

FRAMING_BYTES = sizes.ENVELOPE_BYTES + 1024
"""Room in max.message.bytes for what travels with a value: key, headers and the frame around them."""

_UNSET = ("DELETE", None)
_ALTERED = ("max.message.bytes", "retention.ms", "retention.bytes", "segment.ms", "segment.bytes")


def create(admin: RawAdmin, specs: Sequence[TopicSpec]) -> None:
    """Create those that do not exist and wait until they can be used."""
    wanted: dict[str, dict[str, Any]] = {
        spec.name: {
            "num_partitions": spec.partitions,
            "replication_factor": spec.replication,
            "configs": topic_config(spec),
        }
        for spec in specs
    }
    with _by_controller():
        answers = admin.create_topics(wanted, raise_errors=False)["topics"]
    for answer in answers:
        error = _error(answer)
        if error not in (errors.NoError, errors.TopicAlreadyExistsError):
            if issubclass(error, RETRIABLE):
                raise error(answer["error_message"])
            raise BrokerError(_not_created(answer, wanted[answer["name"]]["replication_factor"]))
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
        "min.insync.replicas": max(1, spec.replication - 1),
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


def found(admin: RawAdmin, topic: str) -> Mapping[str, Any]:
    """What the cluster knows of a topic."""
    (answer,) = admin.describe_topics([topic])
    if answer["error_code"]:
        raise _error(answer)(f"topic {topic}")
    return answer


def describe(admin: RawAdmin, topic: str) -> TopicState:
    """A topic as it is."""
    partitions = found(admin, topic)["partitions"]
    behind = sum(len(partition["isr_nodes"]) < len(partition["replica_nodes"]) for partition in partitions)
    return TopicState(_spec(admin, topic, partitions), _size(admin, topic, partitions), behind)


def alter(admin: RawAdmin, spec: TopicSpec) -> None:
    """Make an existing topic what `spec` says, but for its copies."""
    count = len(found(admin, spec.name)["partitions"])
    if spec.partitions < count:
        raise BrokerError(
            f"topic {spec.name} has {count} partitions and cannot have {spec.partitions}: the messages in "
            f"the others would be lost. Ask for {count} partitions or more"
        )
    if spec.partitions > count:
        with _by_controller():
            admin.create_partitions({spec.name: spec.partitions})
    config = topic_config(spec)
    changes: Any = {name: config.get(name, _UNSET) for name in _ALTERED}
    resource = ConfigResource(ConfigResourceType.TOPIC, spec.name, configs=changes)
    answer = admin.alter_configs([resource], raise_on_unknown=False)["topic"][spec.name]
    if answer != "OK":
        raise BrokerError(f"topic {spec.name} cannot be altered: {answer}")


def await_altered(admin: RawAdmin, spec: TopicSpec) -> None:
    """Raises a passing error until the node that answers knows of the change."""
    partitions = found(admin, spec.name)["partitions"]
    seen, wanted = topic_config(_spec(admin, spec.name, partitions)), topic_config(spec)
    led = sum(partition["leader_id"] >= 0 for partition in partitions)
    if led < spec.partitions or any(seen.get(name) != wanted.get(name) for name in _ALTERED):
        raise errors.LeaderNotAvailableError(f"topic {spec.name} is not altered everywhere yet")


def message_limit(admin: RawAdmin, topic: str) -> int:
    """Bytes that a value of the topic may have."""
    return _config(admin, topic)["max.message.bytes"] - FRAMING_BYTES


def _spec(admin: RawAdmin, topic: str, partitions: Sequence[Mapping[str, Any]]) -> TopicSpec:
    config = _config(admin, topic)
    milliseconds, size = config["retention.ms"], config["retention.bytes"]
    return TopicSpec(
        name=topic,
        partitions=len(partitions),
        retention_seconds=milliseconds / 1000 if milliseconds >= 0 else None,
        retention_bytes=size if size >= 0 else None,
        max_message_bytes=config["max.message.bytes"] - FRAMING_BYTES,
        replication=min(len(partition["replica_nodes"]) for partition in partitions),
    )


def _config(admin: RawAdmin, topic: str) -> dict[str, int]:
    names = ("max.message.bytes", "retention.ms", "retention.bytes")
    wanted = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict.fromkeys(names, ""))
    answer = admin.describe_configs([wanted], config_filter="all")["topic"][topic]
    if not answer:
        raise errors.UnknownTopicOrPartitionError(f"topic {topic}")
    return {name: int(answer[name]["value"]) for name in names}


def _size(admin: RawAdmin, topic: str, partitions: Sequence[Mapping[str, Any]]) -> int:
    """Bytes on the disks of the partitions' leaders."""
    leaders = {p["partition_index"]: p["leader_id"] for p in partitions if p["leader_id"] >= 0}
    answers = admin.describe_log_dirs([topic], sorted(set(leaders.values())))
    return sum(
        partition["partition_size"]
        for answer in answers
        for directory in answer["log_dirs"]
        for entry in directory["topics"]
        for partition in entry["partitions"]
        if leaders.get(partition["partition_index"]) == answer["broker"] and not partition["is_future_key"]
    )


def _not_created(answer: Mapping[str, Any], replication: int) -> str:
    text = f"topic {answer['name']} cannot be created: {answer['error_message']}"
    if _error(answer) is errors.InvalidReplicationFactorError:
        text += f" Set topics.replication, which is {replication}, to no more than the cluster has nodes"
    return text


def _error(answer: Mapping[str, Any]) -> type[errors.KafkaError]:
    return cast("type[errors.KafkaError]", errors.for_code(answer["error_code"]))  # pyright: ignore[reportUnknownMemberType]


@contextmanager
def _by_controller() -> Generator[None]:
    """A controller that has just moved is a passing error; kafka-python raises a RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        raise errors.NotControllerError(str(error)) from error
