"""Writes messages at given offsets and times, into topics that nobody looks for until all is there."""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from os import getpid
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from mentor_stream.broker.base import BrokerError, Message, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import catalog, log
from mentor_stream.broker.sqlite.compression import Stored, pack
from mentor_stream.broker.sqlite.database import Database, opened
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.watch import Watch

T = TypeVar("T")

UNFINISHED = ":unfinished-"
"""Stands, with the id of the process that is at it, behind the name of a topic in the making."""
FORGET_MESSAGES = 1_000
"""Removed at once: it holds the write lock."""


class SqliteRestoration:
    """See broker.restoration.Restoration."""

    def __init__(self, database: Database) -> None:
        self._database, self._watch = database, Watch(database)
        self._topics: dict[str, catalog.Topic] = {}

    async def begin(self, spec: TopicSpec) -> None:
        """See Restoration.begin."""
        self._topics[spec.name] = await self._written(partial(_begin, spec=spec))

    async def append(self, topic: str, messages: Sequence[Message]) -> None:
        """See Restoration.append."""
        how = self._database.location.compression

        def packed() -> list[Stored]:
            return [pack(message.value, how) for message in messages]

        values = await to_thread.run_sync(packed)
        partitions = self._topics[topic].partitions
        await self._written(partial(_append, partitions=partitions, messages=messages, values=values))

    async def publish(self, ends: Mapping[TopicPartition, int]) -> None:
        """See Restoration.publish."""
        await self._written(partial(_publish, topics=self._topics, ends=ends))
        self._topics = {}

    async def _written(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What came of `work`, in the file that was opened and is still there under its name."""
        result = await self._database.write(work)
        await self._database.call(lambda _: self._watch.check())
        return result


@asynccontextmanager
async def restoring(location: Location) -> AsyncGenerator[SqliteRestoration]:
    """A restoration into the file, made when there is none. Takes away what dead processes left of theirs."""
    async with opened(location, durable=True) as database:
        await _forget(database)
        try:
            yield SqliteRestoration(database)
        finally:
            with anyio.CancelScope(shield=True):
                await _forget(database)


def _begin(connection: sqlite3.Connection, spec: TopicSpec) -> catalog.Topic:
    _refuse_existing(connection, spec.name)
    name = f"{spec.name}{UNFINISHED}{getpid()}"
    hidden = TopicSpec(
        name, spec.partitions, spec.retention_seconds, spec.retention_bytes, spec.max_message_bytes
    )
    catalog.create(connection, [hidden])
    return catalog.find(connection, name)


def _refuse_existing(connection: sqlite3.Connection, name: str) -> None:
    if name in catalog.topics(connection):
        raise BrokerError(f"there is a topic {name} already: give the run another name")


def _append(
    connection: sqlite3.Connection,
    partitions: Sequence[int],
    messages: Sequence[Message],
    values: Sequence[Stored],
) -> None:
    entries = [
        log.Entry(partitions[m.partition], m.key, log.pack_headers(m.headers), value)
        for m, value in zip(messages, values, strict=True)
    ]
    log.put_back(connection, entries, [(m.offset, m.timestamp) for m in messages])


def _publish(
    connection: sqlite3.Connection, topics: Mapping[str, catalog.Topic], ends: Mapping[TopicPartition, int]
) -> None:
    for name, topic in topics.items():
        _refuse_existing(connection, name)
        for number, partition in enumerate(topic.partitions):
            log.end_at(connection, partition, ends[TopicPartition(name, number)])
        catalog.rename(connection, topic.id, name)


async def _forget(database: Database) -> None:
    """Take away topics in the making whose process is gone, and our own."""
    found = await database.read(lambda connection: list(_abandoned(connection)))
    for topic in found:
        for partition in topic.partitions:
            while await database.write(partial(log.empty, partition=partition, most=FORGET_MESSAGES)):
                pass
        await database.write(partial(catalog.remove, topic=topic))


def _abandoned(connection: sqlite3.Connection) -> Iterator[catalog.Topic]:
    for name, topic in catalog.topics(connection).items():
        _, unfinished, owner = name.rpartition(UNFINISHED)
        if unfinished and (owner == str(getpid()) or not Path(f"/proc/{owner}").exists()):
            yield topic
