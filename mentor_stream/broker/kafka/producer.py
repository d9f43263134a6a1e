"""Durable appends: every message waits for its own acknowledgement, and the bytes under way are bounded."""

import logging
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, MessageTooLarge, Receipt
from mentor_stream.broker.kafka.admin import Admin
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, TOO_LARGE, Client, opened
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.sender import watched_producer
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.kafka.topics import FRAMING_BYTES

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 2**20
"""The largest request we make: above any topic limit of ours, below the 100 MB that brokers accept."""
GRACE_SECONDS = 1.0
BATCH_BYTES = 2**18
"""Small messages of one partition travel together up to this size."""
METADATA_WAIT_MS = 2000
"""So long a topic that the client does not find holds up the messages of the others."""


@dataclass(slots=True, eq=False)
class _Parcel:
    """A message on its way, and how it ended."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    size: int
    settled: anyio.Event = field(default_factory=anyio.Event)
    end: Receipt | Exception | None = None


class KafkaProducer:
    """The contract's Producer. Its owner task is the only one to call the client."""

    def __init__(
        self,
        client: Client[RawProducer],
        admin: Admin,
        budget: ByteBudget,
        refusals: MutableMapping[str, str],
    ) -> None:
        self._client, self._admin, self._budget = client, admin, budget
        self._queue: list[_Parcel] = []
        self._queued = anyio.Event()
        self._under_way = 0
        self._idle = anyio.Event()
        self._ended: Handover[tuple[_Parcel, Any]] = Handover(self._settle)
        self._refusals = refusals
        # the client has a time-out of its own, but forgets it while it waits for a new producer id
        self._timeout = client.settings.send_timeout + GRACE_SECONDS

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """Append one message durably; see base.py."""
        size = len(key) + len(value) + sum(len(name) + len(text) for name, text in headers)
        parcel = _Parcel(topic, key, value, list(headers), size)
        with anyio.move_on_after(self._timeout):
            while parcel.end is None:
                await self._enqueue(parcel)
                await parcel.settled.wait()
        if isinstance(parcel.end, Receipt):
            return parcel.end
        raise parcel.end or self._not_acknowledged(topic)

    async def run(self) -> None:
        """The owner task: hands what is queued to the client, all of it at once."""
        while True:
            await self._queued.wait()
            self._queued = anyio.Event()
            parcels, self._queue = self._queue, []
            await self._client.call(self._append, parcels)

    async def drained(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            self._idle = anyio.Event()
            await self._idle.wait()

    @property
    def under_way(self) -> int:
        """Messages neither acknowledged nor given up."""
        return self._under_way

    async def _enqueue(self, parcel: _Parcel) -> None:
        self._under_way += 1
        try:
            limit = self._admin.known_limit(parcel.topic)
            if limit is None or len(parcel.value) > limit:
                await self._check_size(parcel)
            await self._budget.take(parcel.size)
        except BaseException:
            self._left()
            raise
        self._queue.append(parcel)
        self._queued.set()

    async def _check_size(self, parcel: _Parcel) -> None:
        limit = min(await self._admin.message_limit(parcel.topic), MAX_REQUEST_BYTES - FRAMING_BYTES)
        if len(parcel.value) > limit:
            raise MessageTooLarge(_too_large(parcel.topic, len(parcel.value), limit))

    def _append(self, raw: RawProducer, parcels: Sequence[_Parcel]) -> None:
        missing: set[str] = set()
        for parcel in parcels:
            if parcel.topic in missing:
                self._ended.put((parcel, None))
                continue
            try:
                future = raw.send(parcel.topic, parcel.value, key=parcel.key, headers=parcel.headers)
            except errors.KafkaTimeoutError:
                missing.add(parcel.topic)
                self._ended.put((parcel, None))
            except Exception as error:
                self._ended.put((parcel, error))
            else:
                # these run in the client's network thread: nothing there may wait for the event loop
                future.add_both(lambda end, parcel=parcel: self._ended.put((parcel, end)))

    def _settle(self, ended: tuple[_Parcel, Any]) -> None:
        """A message has an end: what kafka-python says of it, or None when it did not find the topic."""
        parcel, end = ended
        settled = parcel.settled
        if end is None:
            # its sender goes round again, and learns first whether the topic is still there
            self._admin.forget_limit(parcel.topic)
            parcel.settled = anyio.Event()
        else:
            parcel.end = self._meaning(parcel.topic, end)
            if isinstance(parcel.end, Exception) and not settled.statistics().tasks_waiting:
                log.warning("a message whose sender did not wait is lost: %s", parcel.end)
        self._budget.give(parcel.size)
        settled.set()
        self._left()

    def _meaning(self, topic: str, end: Any) -> Receipt | Exception:
        if not isinstance(end, Exception):
            self._refusals.pop(topic, None)
            return Receipt(end.topic, end.partition, end.offset)
        if isinstance(end, errors.KafkaTimeoutError):
            return self._not_acknowledged(topic)
        if isinstance(end, TOO_LARGE):
            self._admin.forget_limit(topic)  # somebody has lowered it
        return self._client.explained(end) if isinstance(end, errors.KafkaError) else end

    def _not_acknowledged(self, topic: str) -> BrokerError:
        waited = f"a message for {topic} was not acknowledged within {self._client.settings.send_timeout:g} s"
        refusal = self._refusals.get(topic)
        return self._client.unavailable(f"{waited}: {refusal}" if refusal else waited)

    def _left(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()


@asynccontextmanager
async def producing(
    settings: ConnectionSettings, admin: Admin, max_inflight_bytes: int
) -> AsyncIterator[KafkaProducer]:
    """A producer for the block. Leaving waits for what is under way; if cancelled, CLOSE_SECONDS at most."""
    refusals: dict[str, str] = {}
    options = _options(settings)
    async with opened(partial(watched_producer, refusals), _close, settings, **options) as client:
        producer = KafkaProducer(client, admin, ByteBudget(max_inflight_bytes), refusals)
        async with beside(producer.run):
            try:
                yield producer
                with anyio.move_on_after(settings.send_timeout):
                    await producer.drained()
            finally:
                with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                    await producer.drained()
                if producer.under_way:
                    log.warning("%d messages were not acknowledged before the end", producer.under_way)


def _options(settings: ConnectionSettings) -> dict[str, Any]:
    send_ms = round(settings.send_timeout * 1000)
    return {
        "acks": "all",
        "enable_idempotence": True,
        "compression_type": None if settings.compression == "none" else settings.compression,
        "max_request_size": MAX_REQUEST_BYTES,
        "batch_size": BATCH_BYTES,
        "max_block_ms": min(METADATA_WAIT_MS, send_ms),
        "delivery_timeout_ms": send_ms,
        # tried twice at least: of a batch that was tried once kafka-python forgets that it may be there
        "request_timeout_ms": min(10_000, max(1, send_ms // 2)),
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }


def _close(raw: RawProducer) -> None:
    try:
        raw.close(timeout=CLOSE_SECONDS)
    except errors.KafkaTimeoutError:
        # close() gives up when its flush does and leaves the thread running for ever
        raw._sender.force_close()  # pyright: ignore[reportAttributeAccessIssue]


def _too_large(topic: str, size: int, limit: int) -> str:
    return (
        f"topic {topic}: a message of {size} bytes, {limit} allowed; raise its max_record_bytes in [topics] "
        f"and alter the topic, or send less (no message may have {MAX_REQUEST_BYTES} bytes)"
    )
