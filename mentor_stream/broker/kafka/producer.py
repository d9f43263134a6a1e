"""Durable appends: every message waits for its own acknowledgement, and the bytes under way are bounded."""

import logging
import time
from collections.abc import AsyncGenerator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from kafka import KafkaProducer as RawProducer

from mentor_stream.broker import sizes
from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, MessageTooLarge, Outgoing, Receipt
from mentor_stream.broker.kafka.admin import Admin
from mentor_stream.broker.kafka.budget import ByteBudget
from mentor_stream.broker.kafka.client import CLOSE_SECONDS, Client, opened
from mentor_stream.broker.kafka.courier import Courier
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.losses import Losses
from mentor_stream.broker.kafka.parcel import Parcel, Round
from mentor_stream.broker.kafka.sender import MAX_REQUEST_BYTES, close, mended_producer, producer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.kafka.topics import FRAMING_BYTES
from mentor_stream.broker.kafka.verdict import Verdicts

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
EXPIRE_SECONDS = 0.5


class KafkaProducer:
    """The contract's Producer. Its owner task is the only one to call the client.

    A parcel is in line until its bytes fit (budget.py), then it goes by courier.py to kafka-python; who sent
    it waits for one event all that time, however many it sent.
    """

    def __init__(
        self, client: Client[RawProducer], admin: Admin, bound: int, refusals: MutableMapping[str, str]
    ) -> None:
        self._client, self._admin = client, admin
        self._verdicts = Verdicts(client, refusals)
        self._line = ByteBudget(bound, self._goes)
        self._courier = Courier(Handover(self._settle))
        self._awaited: dict[Parcel, None] = {}
        self._losses = Losses()
        self._under_way = 0
        self._open = True
        self._idle = anyio.Event()
        self._event = type(self._idle)  # anyio finds it anew each time, for longer than the event takes
        # the client has a time-out of its own, but forgets it while it waits for a new producer id
        self._timeout = client.settings.send_timeout + GRACE_SECONDS

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """Append one message durably; see base.py."""
        (receipt,) = await self.send_all((Outgoing(topic, key, value, headers),))
        return receipt

    async def send_all(self, messages: Sequence[Outgoing]) -> list[Receipt]:
        """Append messages durably; see base.py."""
        now = time.monotonic()
        parcels = [
            Parcel(topic, key, value, list(headers), sizes.envelope(key, headers), now)
            for topic, key, value, headers in messages
        ]
        self._awaited.update(dict.fromkeys(parcels))
        try:
            while left := await self._to_send(parcels):
                await self._go_round(left)
        finally:
            for parcel in parcels:
                parcel.awaited = False
                del self._awaited[parcel]
            self._look_whether_idle()
        return [_received(parcel) for parcel in parcels]

    async def run(self) -> None:
        """The owner task: the client's thread takes messages until `stop`."""
        await self._client.call(self._courier.serve)

    def stop(self) -> None:
        """End `run`. Nobody waits for a message any more."""
        self._open = False
        self._courier.stop()
        for parcel in self._awaited:
            parcel.settle(_closed(parcel.topic))

    async def expire(self) -> None:
        """Beside `run`: gives up what took too long. One look at all costs less than a time-out for each.

        What is lost is told here too, so that it is told together.
        """
        while True:
            await anyio.sleep(EXPIRE_SECONDS)
            self._losses.tell()
            now = time.monotonic()
            for parcel in tuple(self._awaited):
                if now - parcel.since < self._timeout:
                    break  # the others are younger
                if parcel.end is None:
                    parcel.settle(self._verdicts.overdue(parcel.topic))

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

    async def _to_send(self, parcels: Sequence[Parcel]) -> list[Parcel]:
        """Those without an end. Raises what forbids to send one of them."""
        for parcel in parcels:
            if parcel.end is None:
                if not self._open:
                    raise _closed(parcel.topic)
                limit = self._admin.known_limit(parcel.topic)
                if limit is None or not sizes.fits(len(parcel.value), parcel.envelope, limit):
                    await self._check_size(parcel)
        return [parcel for parcel in parcels if parcel.end is None]

    async def _check_size(self, parcel: Parcel) -> None:
        with anyio.move_on_after(self._timeout):
            limit = min(await self._admin.message_limit(parcel.topic), MAX_REQUEST_BYTES - FRAMING_BYTES)
            if not sizes.fits(len(parcel.value), parcel.envelope, limit):
                raise sizes.too_large(parcel.topic, len(parcel.value), parcel.envelope, limit)
            return
        raise self._verdicts.overdue(parcel.topic)

    async def _go_round(self, parcels: Sequence[Parcel]) -> None:
        """All of them to the client, and wait for what becomes of them."""
        together = Round(len(parcels), self._event())
        self._under_way += len(parcels)
        for parcel in parcels:
            parcel.round = together
            self._line.add(parcel, parcel.size)
        await together.wait()

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
        verdict = None if end is None else self._verdicts.of(parcel, end)
        if end is None or isinstance(verdict, MessageTooLarge):
            # the topic is gone, or somebody lowered its limit: who sends to it next asks again
            self._admin.forget_limit(parcel.topic)
        if isinstance(verdict, Exception) and not parcel.awaited and parcel.end is None:
            self._losses.add(verdict)
        parcel.settle(verdict)
        self._left()
        self._line.give(parcel.size)

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
    mended = partial(mended_producer, refusals)
    async with opened(mended, close, settings, **producer_options(settings)) as client:
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


def _received(parcel: Parcel) -> Receipt:
    if not isinstance(parcel.end, Receipt):
        assert parcel.end
        raise parcel.end
    return parcel.end


def _closed(topic: str) -> BrokerError:
    return BrokerError(f"the producer was closed before a message for {topic} was acknowledged")
