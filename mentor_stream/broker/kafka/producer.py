"""Durable appends: every message waits for its own acknowledgement, and the bytes under way are bounded."""

import logging
from collections.abc import AsyncGenerator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker import sizes
from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, BrokerUnavailable, Receipt
from mentor_stream.broker.kafka.admin import Admin
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, Client, opened
from mentor_stream.broker.kafka.courier import METADATA_WAIT_MS, Courier, Parcel
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.losses import Losses
from mentor_stream.broker.kafka.meaning import RETRIABLE, TOO_LARGE, refused_as_too_large
from mentor_stream.broker.kafka.sender import mended_producer
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.kafka.topics import FRAMING_BYTES

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 2**20
"""The largest request we make: above any topic limit of ours, below the 100 MB that brokers accept."""
GRACE_SECONDS = 1.0
EXPIRE_SECONDS = 0.5
BATCH_BYTES = 2**18
"""Small messages of one partition travel together up to this size."""


class KafkaProducer:
    """The contract's Producer. Its owner task is the only one to call the client.

    A parcel is in line until its bytes fit (budget.py), then it goes by courier.py to kafka-python; its
    sender waits for one event all that time.
    """

    def __init__(
        self, client: Client[RawProducer], admin: Admin, bound: int, refusals: MutableMapping[str, str]
    ) -> None:
        self._client, self._admin, self._refusals = client, admin, refusals
        self._line = ByteBudget(bound, self._goes)
        self._courier = Courier(Handover(self._settle))
        self._awaited: dict[Parcel, None] = {}
        self._losses = Losses()
        self._under_way = 0
        self._open = True
        self._idle = anyio.Event()
        # the client has a time-out of its own, but forgets it while it waits for a new producer id
        self._timeout = client.settings.send_timeout + GRACE_SECONDS

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """Append one message durably; see base.py."""
        size = sizes.envelope(topic, key, headers) + len(value)
        parcel = Parcel(topic, key, value, list(headers), size, anyio.current_time())
        self._awaited[parcel] = None
        try:
            while parcel.end is None:
                if not self._open:
                    raise _closed(topic)
                limit = self._admin.known_limit(topic)
                if limit is None or len(value) > limit:
                    await self._check_size(topic, len(value))
                self._under_way += 1
                self._line.add(parcel, size)
                await parcel.settled.wait()
        finally:
            parcel.awaited = False
            del self._awaited[parcel]
            self._look_whether_idle()
        if isinstance(parcel.end, Exception):
            raise parcel.end
        return parcel.end

    async def run(self) -> None:
        """The owner task: the client's thread takes messages until `stop`."""
        await self._client.call(self._courier.serve)

    def stop(self) -> None:
        """End `run`. Nobody waits for a message any more."""
        self._open = False
        self._courier.stop()
        for parcel in self._awaited:
            parcel.end = parcel.end or _closed(parcel.topic)
            parcel.settled.set()

    async def expire(self) -> None:
        """Beside `run`: gives up what took too long. One look at all costs less than a time-out for each.

        What is lost is told here too, so that it is told together.
        """
        while True:
            await anyio.sleep(EXPIRE_SECONDS)
            self._losses.tell()
            for parcel in tuple(self._awaited):
                if anyio.current_time() - parcel.since < self._timeout:
                    break  # the others are younger
                parcel.end = parcel.end or self._not_acknowledged(parcel.topic)
                parcel.settled.set()

    async def drained(self) -> None:
        """Wait until nothing is under way or waited for."""
        while self._under_way or self._awaited:
            self._idle = anyio.Event()
            await self._idle.wait()

    def tell_losses(self) -> None:
        """Say what was lost and not said yet."""
        self._losses.tell(at_once=True)

    @property
    def under_way(self) -> int:
        """Messages with the client or in line, neither acknowledged nor given up."""
        return self._under_way

    async def _check_size(self, topic: str, size: int) -> None:
        with anyio.move_on_after(self._timeout):
            limit = min(await self._admin.message_limit(topic), MAX_REQUEST_BYTES - FRAMING_BYTES)
            if size > limit:
                raise sizes.too_large(topic, size, limit)
            return
        raise self._not_acknowledged(topic)

    def _goes(self, parcel: Parcel) -> bool:
        """Its bytes fit: to the client with it, if anybody still wants that."""
        if parcel.awaited and parcel.end is None:
            self._courier.take(parcel)
            return True
        self._left()
        return False

    def _settle(self, ended: tuple[Parcel, Any]) -> None:
        """A message has an end: what kafka-python says of it, or None when it did not find the topic."""
        parcel, end = ended
        settled = parcel.settled
        if end is None:
            # its sender goes round again, and learns first whether the topic is still there
            self._admin.forget_limit(parcel.topic)
            parcel.settled = anyio.Event()
        elif parcel.end is None:
            parcel.end = self._meaning(parcel, end)
            if isinstance(parcel.end, Exception) and not parcel.awaited:
                self._losses.add(parcel.end)
        settled.set()
        self._left()
        self._line.give(parcel.size)

    def _meaning(self, parcel: Parcel, end: Any) -> Receipt | Exception:
        topic = parcel.topic
        if not isinstance(end, Exception):
            self._refusals.pop(topic, None)
            return Receipt(end.topic, end.partition, end.offset)
        if isinstance(end, errors.KafkaTimeoutError):
            return self._not_acknowledged(topic)
        if isinstance(end, TOO_LARGE):
            self._admin.forget_limit(topic)  # somebody has lowered it
            return refused_as_too_large(topic, parcel.size)
        # what may pass is tried again until the time is up
        failed = self._waited(topic) if isinstance(end, RETRIABLE) else _unacknowledged(topic)
        return self._client.explained(end, failed) if isinstance(end, errors.KafkaError) else end

    def _not_acknowledged(self, topic: str) -> BrokerUnavailable:
        refusal = self._refusals.get(topic)
        waited = self._waited(topic)
        return self._client.unavailable(f"{waited}: {refusal}" if refusal else waited)

    def _waited(self, topic: str) -> str:
        return f"{_unacknowledged(topic)} within {self._client.settings.send_timeout:g} s (send_timeout)"

    def _left(self) -> None:
        self._under_way -= 1
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if not self._under_way and not self._awaited:
            self._idle.set()


@asynccontextmanager
async def producing(
    settings: ConnectionSettings, admin: Admin, max_inflight_bytes: int
) -> AsyncGenerator[KafkaProducer]:
    """A producer for the block. Leaving waits for what is under way; if cancelled, CLOSE_SECONDS at most."""
    refusals: dict[str, str] = {}
    options = _options(settings)
    async with opened(partial(mended_producer, refusals), _close, settings, **options) as client:
        producer = KafkaProducer(client, admin, max_inflight_bytes, refusals)
        async with beside(producer.run, producer.stop), beside(producer.expire):
            try:
                yield producer
                with anyio.move_on_after(settings.send_timeout):
                    await producer.drained()
            finally:
                with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                    await producer.drained()
                producer.tell_losses()
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


def _close(raw: Any) -> None:
    try:
        raw.close(timeout=CLOSE_SECONDS)
    except errors.KafkaTimeoutError:
        # close() gives up when its flush does and leaves the thread running for ever
        raw._sender.force_close()


def _closed(topic: str) -> BrokerError:
    return BrokerError(f"the producer was closed before a message for {topic} was acknowledged")


def _unacknowledged(topic: str) -> str:
    return f"a message for {topic} was not acknowledged"
