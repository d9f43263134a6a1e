"""kafka-python alone, with the options that our clients have."""

import time
from collections import deque
from typing import Any
from uuid import uuid4

from kafka import KafkaConsumer, KafkaProducer

from benchmarks.broker.load import Load, Spent, Stopwatch
from mentor_stream.broker.kafka.lane import COMMIT_SECONDS
from mentor_stream.broker.kafka.messages import consumer_options
from mentor_stream.broker.kafka.sender import producer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings

SECONDS = 60


class BareKafka:
    """Writes to a topic of its own and reads that which ours wrote: how records lie in batches matters."""

    def __init__(self, settings: ConnectionSettings, own: str, ours: str) -> None:
        self._settings, self._own, self._ours = settings, own, ours

    def produce(self, load: Load) -> Spent:
        """Sends, and waits for the oldest acknowledgement when as many are under way as ours has."""
        producer = KafkaProducer(**self._settings.client_options(), **producer_options(self._settings))
        try:
            value, under_way = load.value, deque()
            producer.send(self._own, value, key=b"first").get(SECONDS)
            watch = Stopwatch()
            for number in range(load.count):
                if len(under_way) == load.senders:
                    under_way.popleft().get(SECONDS)
                under_way.append(producer.send(self._own, value, key=str(number).encode()))
            for future in under_way:
                future.get(SECONDS)
            return watch.spent(load, load.count)
        finally:
            producer.close(timeout=SECONDS)

    def consume(self, load: Load) -> Spent:
        """Polls as a group's only member and commits as often as ours does."""
        options: dict[str, Any] = self._settings.client_options() | consumer_options(self._settings)
        options |= {"group_id": f"group-{uuid4().hex}", "auto_offset_reset": "earliest"}
        consumer = KafkaConsumer(self._ours, **options)
        try:
            watch, begun, seen, committed = Stopwatch(), 0, 0, time.perf_counter()
            while seen < load.count:
                seen += sum(map(len, consumer.poll(timeout_ms=200).values()))
                if not begun and seen >= load.begin:
                    watch, begun = Stopwatch(), seen
                if time.perf_counter() - committed > COMMIT_SECONDS:
                    consumer.commit_async()
                    committed = time.perf_counter()
            return watch.spent(load, seen - begun)
        finally:
            consumer.close(autocommit=False, timeout_ms=SECONDS * 1000)
