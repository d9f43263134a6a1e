"""Appends messages; those sent at the same time share one transaction, and so one wait for the disk."""

import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from functools import partial

import anyio
from anyio import to_thread

from mentor_stream.broker import sizes
from mentor_stream.broker.base import BrokerError, MessageTooLarge, Outgoing, Receipt, TopicSpec
from mentor_stream.broker.sqlite import catalog, log
from mentor_stream.broker.sqlite.batch import Batch, Sending
from mentor_stream.broker.sqlite.compression import Stored, pack
from mentor_stream.broker.sqlite.database import Database, Locked
from mentor_stream.broker.sqlite.watch import Signal, Watch

BATCH_BYTES = 8 * 2**20
TRIM_SECONDS = 1.0
TRIM_MESSAGES = 1_000
"""A trim removes so many messages and two for each that came; it holds the write lock."""


class SqliteProducer:
    """See broker.base.Producer."""

    def __init__(
        self, database: Database, questions: Database, watch: Watch, max_inflight_bytes: int
    ) -> None:
        self._database, self._questions, self._watch = database, questions, watch
        self._compression = database.location.compression
        self._topics = catalog.Memory()
        self._most = max_inflight_bytes
        self._inflight = self._begun = 0
        self._queue: deque[Batch] = deque()
        self._turn = anyio.Lock(fast_acquire=True)
        self._room, self._work = Signal(), Signal()
        self._closing = False
        self._trimmed: dict[int, float] = {}

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """See Producer.send."""
        (receipt,) = await self.send_all((Outgoing(topic, key, value, headers),))
        return receipt

    async def send_all(self, messages: Sequence[Outgoing]) -> list[Receipt]:
        """See Producer.send_all."""
        if self._closing:
            raise BrokerError("this producer is closed: send before leaving its context")
        now = time.monotonic()
        sendings = [Sending.of(message, now) for message in messages]
        self._begun += 1
        try:
            for sending in sendings:
                await self._check(sending)
            for sending in sendings:
                await self._enqueue(sending)
            for sending in sendings:
                while sending.end is None:
                    await sending.settled.wait()
        finally:
            self._begun -= 1
            self._work.give()
        return [_received(sending) for sending in sendings]

    async def run(self) -> None:
        """Write what is sent until stopped, then what is left, also when cancelled."""
        with anyio.CancelScope(shield=True):
            while self._queue or self._begun or not self._closing:
                if self._queue:
                    await self._write(self._queue.popleft())
                else:
                    await self._work.wait()

    def stop(self) -> None:
        """Let nothing new begin; `run` returns when all is written."""
        self._closing = True
        self._work.give()

    async def _check(self, message: Sending) -> None:
        """Raises UnknownTopic, MessageTooLarge; neither by what may have changed since."""
        topic = self._topics.get(message.topic)
        if topic is None or not _fits(message, topic):
            await self._questions.read(self._topics.refresh)
            topic = self._topics.get(message.topic)
        if topic is None:
            raise await self._questions.read(partial(catalog.missing, name=message.topic))
        if not _fits(message, topic):
            raise _too_large(message, topic)

    async def _enqueue(self, message: Sending) -> None:
        """Queue it once there is room, first come first served; one message alone always has room."""
        size = message.size
        async with self._turn:
            while self._inflight and self._inflight + size > self._most:
                await self._room.wait()
            self._inflight += size
            if not self._queue or self._queue[-1].size + size > BATCH_BYTES:
                self._queue.append(Batch())
            self._queue[-1].add(message, size)
        self._work.give()

    async def _write(self, batch: Batch) -> None:
        try:
            values = await self._packed(batch.messages)
            append = partial(self._append, messages=batch.messages, values=values)
            ends = await self._database.write(append, since=batch.messages[0].since)
        except Locked as error:
            self._try_again(batch, error)
        except Exception as error:
            self._settle(batch, [error] * len(batch.messages))
        else:
            self._watch.changed()
            self._settle(batch, ends)

    def _try_again(self, batch: Batch, error: Locked) -> None:
        """Give up those whose time is up; the others stay in front of the queue, and in order."""
        overdue, later = time.monotonic() - self._database.location.timeout, Batch()
        ends = [error if message.since <= overdue else None for message in batch.messages]
        for message, end in zip(batch.messages, ends, strict=True):
            if end is None:
                later.add(message, message.size)
        if later.messages:
            self._queue.appendleft(later)
        batch.size -= later.size
        self._settle(batch, ends)

    def _settle(self, batch: Batch, ends: Sequence[Receipt | Exception | None]) -> None:
        for message, end in zip(batch.messages, ends, strict=True):
            message.end = end
        self._inflight -= batch.size
        batch.settled.set()
        self._room.give()

    async def _packed(self, messages: Sequence[Sending]) -> list[Stored]:
        """What to write: compressed before the file is locked, so that others can write meanwhile."""

        def packed() -> list[Stored]:
            return [pack(message.value, self._compression) for message in messages]

        return packed() if self._compression == "none" else await to_thread.run_sync(packed)

    def _append(
        self, connection: sqlite3.Connection, messages: Sequence[Sending], values: Sequence[Stored]
    ) -> list[Receipt | MessageTooLarge]:
        """Append each to the partition of its key, of as many as there are in this transaction.

        One that is above its topic's limit by now is refused, and no other for its sake.
        """
        known = self._topics.refresh(connection)
        kept = [
            (message, topic, topic.partition_of(message.key), value)
            for message, value in zip(messages, values, strict=True)
            if _fits(message, topic := known[message.topic])
        ]
        entries = [
            log.Entry(topic.partitions[number], message.key, message.headers, value)
            for message, topic, number, value in kept
        ]
        offsets = log.append(connection, entries)
        specs = {entry.partition: topic.spec for entry, (_, topic, *_) in zip(entries, kept, strict=True)}
        for partition, spec in specs.items():
            self._trim(connection, partition, spec, came=len(entries))
        receipts = {
            message: Receipt(message.topic, number, offset)
            for (message, _, number, _), offset in zip(kept, offsets, strict=True)
        }
        return [receipts.get(message) or _too_large(message, known[message.topic]) for message in messages]

    def _trim(self, connection: sqlite3.Connection, partition: int, spec: TopicSpec, came: int) -> None:
        """Enforce retention on a partition that was written to, about once a second until it is."""
        seconds, most_bytes = spec.retention_seconds, spec.retention_bytes
        due = time.monotonic() >= self._trimmed.get(partition, -TRIM_SECONDS) + TRIM_SECONDS
        if due and (seconds is not None or most_bytes is not None):
            oldest = None if seconds is None else time.time() - seconds
            most = TRIM_MESSAGES + 2 * came
            if log.trim(connection, partition, oldest=oldest, most_bytes=most_bytes, most=most):
                return  # the next batch goes on
            self._trimmed[partition] = time.monotonic()


def _fits(message: Sending, topic: catalog.Topic) -> bool:
    return sizes.fits(len(message.value), message.envelope, topic.spec.max_message_bytes)


def _too_large(message: Sending, topic: catalog.Topic) -> MessageTooLarge:
    limit = topic.spec.max_message_bytes
    return sizes.too_large(message.topic, len(message.value), message.envelope, limit)


def _received(message: Sending) -> Receipt:
    assert message.end
    if isinstance(message.end, Exception):
        raise _copied(message.end)
    return message.end


def _copied(error: Exception) -> Exception:
    """The error for one more task to raise: each needs a traceback of its own."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
