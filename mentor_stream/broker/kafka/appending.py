"""Into kafka-python's batches: by its `send`, or past most of it.

`send` asks much again that is known of ours, and takes twice the time. What is used instead are attributes
that kafka-python keeps to itself; tests notice if they go.
"""

# They have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from kafka import KafkaProducer as RawProducer
from kafka.partitioner.default import murmur2
from kafka.structs import TopicPartition

from mentor_stream.broker.kafka.parcel import Parcel


def send(raw: RawProducer, parcel: Parcel) -> Any:
    """The future of its metadata; waits for the topic to be found. Raises kafka-python's errors."""
    return raw.send(parcel.topic, parcel.value, key=parcel.key, headers=parcel.headers)


def append(raw: Any, parcel: Parcel) -> Any:
    """The same as `send`, waiting for nothing; None if the client does not know the topic."""
    partitions = raw._metadata._partitions.get(parcel.topic)
    if not partitions:
        return None
    # the one that kafka-python and every other client would choose for the key
    place = TopicPartition(parcel.topic, (murmur2(parcel.key) & 0x7FFFFFFF) % len(partitions))
    future, full, begun, _ = raw._accumulator.append(place, None, parcel.key, parcel.value, parcel.headers)
    if full or begun:
        raw._sender.wakeup()
    return future
