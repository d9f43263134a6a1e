"""Appends messages; those sent at the same time share one transaction, and so one wait for the disk."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from mentor_stream.broker.base import BrokerError, MessageTooLarge, Receipt
from mentor_stream.broker.sqlite import log
from mentor_stream.broker.sqlite.catalog import Catalog, Topic
from mentor_stream.broker.sqlite.database import Database
from mentor_stream.broker.sqlite.watch import Signal, Watch

BATCH_BYTES = 8 * 2**20
TRIM_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class _Sending:
    """A message between `send` and the disk."""

    topic: Topic
    entry: log.Entry
    settled: anyio.Event = field(default_factory=anyio.Event)
    offset: int = -1
    failure: Exception | None = None


class SqliteProducer:
    """See broker.base.Producer."""

    def __init__(self, database: Database, catalog: Catalog, watch: Watch, max_inflight_bytes: int) -> None:
        self._database, self._catalog, self._watch = database, catalog, watch
        self._most = max_inflight_bytes
        self._inflight = self._begun = 0
        self._queue: list[_Sending] = []
        self._turn = anyio.Lock()
        self._room, self._work = Signal(), Signal()
        self._closing = False
        self._trimmed: dict[int, float] = {}

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """See Producer.send."""
        if self._closing:
            raise BrokerError("this producer is closed: send before leaving its context")
        self._begun += 1
        try:
            return await self._send(topic, key, value, headers)
        finally:
            self._begun -= 1
            self._work.give()

    async def run(self) -> None:
        """Write what is sent until stopped, then what is left, also when cancelled."""
        with anyio.CancelScope(shield=True):
            while self._queue or self._begun or not self._closing:
                if self._queue:
                    await self._write(self._next_batch())
                else:
                    await self._work.wait()

    def stop(self) -> None:
        """Let nothing new begin; `run` returns when all is written."""
        self._closing = True
        self._work.give()

    async def _send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]]
    ) -> Receipt:
        found = await self._catalog.topic(topic)
        if len(value) > found.max_message_bytes:
            raise MessageTooLarge(
                f"topic {topic}: a message of {len(value)} bytes, {found.max_message_bytes} allowed; create "
                "the topic with a larger max_message_bytes, or send less"
            )
        number = found.partition_of(key)
        entry = log.Entry(found.partitions[number], key, value, log.pack_headers(headers))
        sending = _Sending(found, entry)
        await self._enqueue(sending)
        await sending.settled.wait()
        if sending.failure is not None:
            raise sending.failure
        return Receipt(topic, number, sending.offset)

    async def _enqueue(self, sending: _Sending) -> None:
        """Queue it once there is room, first come first served; one message alone always has room."""
        size = sending.entry.size
        async with self._turn:
            while self._inflight and self._inflight + size > self._most:
                await self._room.wait()
            self._inflight += size
            self._queue.append(sending)
        self._work.give()

    def _next_batch(self) -> list[_Sending]:
        size = count = 0
        while count < len(self._queue) and (not count or size + self._queue[count].entry.size <= BATCH_BYTES):
            size += self._queue[count].entry.size
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        return batch

    async def _write(self, batch: list[_Sending]) -> None:
        try:
            offsets = await self._database.write(lambda connection: self._append(connection, batch))
        except Exception as error:
            for sending in batch:
                sending.failure = _copied(error)
        else:
            for sending, offset in zip(batch, offsets, strict=True):
                sending.offset = offset
            self._watch.changed()
        for sending in batch:
            self._inflight -= sending.entry.size
            sending.settled.set()
        self._room.give()

    def _append(self, connection: sqlite3.Connection, batch: list[_Sending]) -> list[int]:
        offsets = log.append(connection, [sending.entry for sending in batch])
        for partition, topic in {sending.entry.partition: sending.topic for sending in batch}.items():
            self._trim(connection, partition, topic)
        return offsets

    def _trim(self, connection: sqlite3.Connection, partition: int, topic: Topic) -> None:
        """Enforce retention on a partition that was written to, about once a second."""
        seconds, most_bytes = topic.retention_seconds, topic.retention_bytes
        due = time.monotonic() >= self._trimmed.get(partition, 0.0) + TRIM_SECONDS
        if due and (seconds is not None or most_bytes is not None):
            oldest = None if seconds is None else time.time() - seconds
            log.trim(connection, partition, oldest=oldest, most_bytes=most_bytes)
            self._trimmed[partition] = time.monotonic()


def _copied(error: Exception) -> Exception:
    """The error for one more task to raise: each needs a traceback of its own."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
