"""The processes under load. Each keeps a journal and dies by signals only: what it raises is a finding."""

import faulthandler
import logging
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import anyio
from kafka import KafkaAdminClient, errors
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream import broker as brokers
from mentor_stream.broker.base import BrokerUnavailable, Consumer, Message, Outgoing, Producer
from mentor_stream.broker.kafka.lane import group_id
from mentor_stream.broker.kafka.settings import parse as kafka_settings
from mentor_stream.broker.sqlite.location import parse as sqlite_location
from mentor_stream.process import serve
from tests.broker.chaos.journal import (
    Acknowledged,
    Attempt,
    Committed,
    Delivered,
    Handled,
    Journal,
    now,
)

log = logging.getLogger(__name__)

PREFETCH = 32
SEND_PAUSE_SECONDS = 0.02
"""A key's messages follow each other in this time, on average."""
TOGETHER = 3
"""Messages of a key that are sent at once, at most."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Job:
    """Where a worker works, and where its journal lies."""

    url: str
    topic: str
    partitions: int
    group: str
    journal: Path


def payload(key: str, number: int) -> bytes:
    """Message `number` of a key: some hundred to some thousand bytes that say whose they are."""
    name = f"{key}:{number}:".encode()
    size = 200 + crc32(name) % 3_800
    return (name * (size // len(name) + 1))[:size]


def identity(value: bytes) -> tuple[str, int]:
    """The key and number of a message. Raises ValueError for one that is damaged."""
    key, number, _ = value.split(b":", 2)
    name = key.decode(), int(number)
    if value != payload(*name):
        raise ValueError(f"not a message as it was sent: {value!r}")
    return name


def produce(job: Job, numbers: Mapping[str, int]) -> None:
    """Send the messages of each key in their order, from its number on, until stopped."""
    _own_stderr(job)
    serve(partial(_produce, job, numbers))


def consume(job: Job) -> None:
    """Handle messages, each in a task of its own, until stopped."""
    _own_stderr(job)
    serve(partial(_consume, job))


def watch(job: Job) -> None:
    """Note where the group would go on, many times a second."""
    _own_stderr(job)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a measurement of coverage may have left its own
    journal, seen = Journal(job.journal), dict[int, int]()
    for committed in _LOOKS[job.url.partition(":")[0]](job):
        moment = now()
        for partition, offset in committed.items():
            if seen.get(partition, 0) != offset:
                journal.write(Committed(moment, partition, offset))
        seen = committed
        time.sleep(LOOK_SECONDS)


def _own_stderr(job: Job) -> None:
    """What it complains of lies next to its journal, and, on SIGUSR1, what each of its threads is doing."""
    complaints = os.open(job.journal.with_suffix(".stderr"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(complaints, sys.stderr.fileno())
    faulthandler.register(signal.SIGUSR1)


async def _produce(job: Job, numbers: Mapping[str, int]) -> None:
    journal = Journal(job.journal)
    async with (
        brokers.connect(job.url) as broker,
        broker.producer() as producer,
        anyio.create_task_group() as tasks,
    ):
        for key, number in numbers.items():
            tasks.start_soon(_send, producer, job.topic, key, number, journal)


async def _send(producer: Producer, topic: str, key: str, number: int, journal: Journal) -> None:
    while True:
        numbers = range(number, number + random.randint(1, TOGETHER))
        for one in numbers:
            journal.write(Attempt(now(), key, one))
        try:
            receipts = await producer.send_all(
                [Outgoing(topic, key.encode(), payload(key, n)) for n in numbers]
            )
        except BrokerUnavailable as error:
            log.warning("%s:%d will be sent again: %s", key, number, error)
            continue
        for one, receipt in zip(numbers, receipts, strict=True):
            journal.write(Acknowledged(key, one, receipt.partition, receipt.offset, now()))
        number = numbers.stop
        await anyio.sleep(2 * len(numbers) * SEND_PAUSE_SECONDS * random.random())


async def _consume(job: Job) -> None:
    journal = Journal(job.journal)
    async with (
        brokers.connect(job.url) as broker,
        broker.consumer([job.topic], group=job.group, prefetch=PREFETCH) as consumer,
        anyio.create_task_group() as tasks,
    ):
        async for message in consumer:
            name = identity(message.value)
            assert message.key == name[0].encode()
            journal.write(Delivered(*name, message.partition, message.offset, now()))
            tasks.start_soon(_handle, consumer, message, journal)


async def _handle(consumer: Consumer, message: Message, journal: Journal) -> None:
    await anyio.sleep(_seconds_of_work(message))
    journal.write(Handled(now(), message.partition, message.offset))
    consumer.done(message)


def _seconds_of_work(message: Message) -> float:
    """So long that there are always some in hand, and done in another order than they came."""
    draw = crc32(message.value)
    return 1.0 if draw % 200 == 0 else draw % 120 / 1000


def _sqlite_commits(job: Job) -> Iterator[dict[int, int]]:
    path = sqlite_location(job.url).path
    while True:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            rows = connection.execute(
                "SELECT number, committed FROM assignments JOIN partitions ON partitions.id = partition"
                " JOIN topics ON topics.id = topic"
                " WHERE topics.name = ? AND consumers = ? AND committed >= 0",
                (job.topic, job.group),
            ).fetchall()
        yield dict(rows)


def _kafka_commits(job: Job) -> Iterator[dict[int, int]]:
    places = [KafkaPartition(job.topic, number) for number in range(job.partitions)]
    group = group_id(job.group, job.topic)
    while True:
        try:
            with closing(KafkaAdminClient(**kafka_settings(job.url).client_options())) as admin:
                while True:
                    found = admin.list_group_offsets({group: places})[group]  # type: ignore[attr-defined]
                    yield {place.partition: at.offset for place, at in found.items() if at.offset >= 0}
        except errors.KafkaError as error:
            log.warning("the cluster is away: %s", error)


_LOOKS = {"sqlite": _sqlite_commits, "kafka": _kafka_commits}
