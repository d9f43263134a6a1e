"""Durable appends: every message waits for its own acknowledgement, and the bytes under way are bounded."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, MessageTooLarge, Receipt
from mentor_stream.broker.kafka.admin import FRAMING_BYTES, Admin
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, Client, explained, opened, unavailable
from mentor_stream.broker.kafka.settings import ConnectionSettings

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 2**20
"""The largest request we make: above any topic limit of ours, below the 100 MB that brokers accept."""
GRACE_SECONDS = 1.0
BATCH_BYTES = 2**18
"""Small messages of one partition travel together up to this size."""


@dataclass(slots=True, eq=False)
class _Parcel:
    """A message on its way, and how it ended."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    size: int
    settled: anyio.Event = field(default_factory=anyio.Event)
    receipt: Receipt | None = None
    error: BrokerError | None = None


class KafkaProducer:
    """The contract's Producer. Its owner task is the only one to call the client."""

    def __init__(self, client: Client[RawProducer], admin: Admin, budget: ByteBudget) -> None:
        self._client, self._admin, self._budget = client, admin, budget
        self._queue: list[_Parcel] = []
        self._queued = anyio.Event()
        self._under_way = 0
        self._idle = anyio.Event()
        self._on_loop = _loop_entrance()
        # the client has a time-out of its own, but forgets it while it waits for a new producer id
        self._timeout = client.settings.send_timeout + GRACE_SECONDS

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """Append one message durably; see base.py."""
        size = len(key) + len(value) + sum(len(name) + len(text) for name, text in headers)
        parcel = _Parcel(topic, key, value, list(headers), size)
        with anyio.move_on_after(self._timeout):
            await self._enqueue(parcel)
            await parcel.settled.wait()
        if parcel.receipt is not None:
            return parcel.receipt
        raise parcel.error or unavailable(
            self._client.settings, f"a message for {topic} was not acknowledged within {self._timeout:g} s"
        )

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
            limit = min(await self._admin.message_limit(parcel.topic), MAX_REQUEST_BYTES - FRAMING_BYTES)
            if len(parcel.value) > limit:
                raise MessageTooLarge(_too_large(parcel.topic, len(parcel.value), limit))
            await self._budget.take(parcel.size)
        except BaseException:
            self._left()
            raise
        self._queue.append(parcel)
        self._queued.set()

    def _append(self, raw: RawProducer, parcels: Sequence[_Parcel]) -> None:
        for parcel in parcels:
            try:
                future = raw.send(parcel.topic, parcel.value, key=parcel.key, headers=parcel.headers)
            except errors.KafkaError as error:
                self._on_loop(partial(self._failed, parcel, error))
                continue
            # these run in the client's network thread: nothing there may wait for the event loop
            future.add_callback(lambda sent, p=parcel: self._on_loop(partial(self._acknowledged, p, sent)))
            future.add_errback(lambda error, p=parcel: self._on_loop(partial(self._failed, p, error)))

    def _acknowledged(self, parcel: _Parcel, sent: Any) -> None:
        parcel.receipt = Receipt(sent.topic, sent.partition, sent.offset)
        self._settle(parcel)

    def _failed(self, parcel: _Parcel, error: errors.KafkaError) -> None:
        parcel.error = explained(error, self._client.settings)
        if not parcel.settled.statistics().tasks_waiting:
            log.warning(
                "topic %s: a message whose sender did not wait is lost: %s", parcel.topic, parcel.error
            )
        self._settle(parcel)

    def _settle(self, parcel: _Parcel) -> None:
        self._budget.give(parcel.size)
        parcel.settled.set()
        self._left()

    def _left(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()


@asynccontextmanager
async def producing(
    settings: ConnectionSettings, admin: Admin, max_inflight_bytes: int
) -> AsyncIterator[KafkaProducer]:
    """A producer for the block. Leaving waits for what is under way; if cancelled, CLOSE_SECONDS at most."""
    async with opened(RawProducer, _close, settings, **_options(settings)) as client:
        producer = KafkaProducer(client, admin, ByteBudget(max_inflight_bytes))
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
        "max_request_size": MAX_REQUEST_BYTES,
        "batch_size": BATCH_BYTES,
        "max_block_ms": send_ms,
        "delivery_timeout_ms": send_ms,
        "request_timeout_ms": min(10_000, send_ms),
        "metrics_enabled": False,
    }


def _close(raw: RawProducer) -> None:
    try:
        raw.close(timeout=CLOSE_SECONDS)
    except errors.KafkaTimeoutError:
        # close() gives up when its flush does and leaves the thread running for ever
        raw._sender.force_close()  # pyright: ignore[reportAttributeAccessIssue]


def _loop_entrance() -> Callable[[Callable[[], None]], None]:
    """How another thread hands a call to this event loop without waiting for it."""
    token: Any = anyio.lowlevel.current_token().native_token
    return getattr(token, "run_sync_soon", None) or token.call_soon_threadsafe


def _too_large(topic: str, size: int, limit: int) -> str:
    return (
        f"topic {topic}: a message of {size} bytes, {limit} allowed; raise the topic's max.message.bytes "
        f"(TopicSpec.max_message_bytes; no message may exceed {MAX_REQUEST_BYTES} bytes), or send less"
    )
