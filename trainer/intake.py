"""The stream side of the trainer, on an event loop of its own thread: groups in, records out.

The main thread belongs to torch. It calls in here and waits; reading goes on meanwhile, decoded and
bounded, so that a batch is at hand when the step before it ends.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

import schemas
from mentor_stream import stream as streams
from mentor_stream import telemetry, topics
from mentor_stream.broker import Message, OffsetGap, Receipt, TopicPartition
from mentor_stream.config import Config, ConfigError
from mentor_stream.stream import Delivery, Stream
from mentor_stream.topics import Topic
from schemas import Group, RecordError

log = logging.getLogger(__name__)

READ_AHEAD = 64
"""Groups decoded and not yet taken; behind it the reader pauses."""


class Intake:
    """Everything the training thread asks of the stream. Only that thread may call it."""

    def __init__(self, portal: BlockingPortal, stream: Stream) -> None:
        self._portal, self._stream = portal, stream
        self._reading: Future[None] | None = None
        self._send, self._receive = anyio.create_memory_object_stream[Delivery[Group]](READ_AHEAD)

    def check(self, offsets: Sequence[Receipt]) -> None:
        """Raise ConfigError when the topics end before these offsets: then they are of another stream.

        That is no gap, whatever topics.on_gap says: what was trained on is not what stands there.
        """
        self._portal.call(self._check, offsets)

    def start(self, offsets: Sequence[Receipt]) -> None:
        """Begin to read groups and collapsed groups: from `offsets`, other partitions from their start."""
        start = {TopicPartition(o.topic, o.partition): o.offset for o in offsets}
        self._reading = self._portal.start_task_soon(self._read, start)

    def stop(self) -> None:
        """End reading."""
        if self._reading is not None:
            self._reading.cancel()

    def take(self, timeout: float) -> list[Delivery[Group]]:
        """What has arrived, in order; waits up to `timeout` seconds for it. Raises what reading raised."""
        if self._reading is not None and self._reading.done():
            self._reading.result()
        return self._portal.call(self._take, timeout)

    def reread(self, places: Sequence[Receipt]) -> list[Delivery[Group]]:
        """The groups at these places, in the order given, without those that the broker keeps no longer.

        Such a gap counts like one in what is read later: topics.on_gap says whether it raises OffsetGap.
        """
        return self._portal.call(self._reread, places) if places else []

    def is_collapsed(self, message: Message) -> bool:
        """Whether a group came over the topic of collapsed groups."""
        return message.topic == self._stream.name(topics.COLLAPSED)

    def publish(self, topic: Topic[Any], record: schemas.Record) -> None:
        """Append a record; it is durable on return."""
        self._portal.call(self._stream.publish, topic, record)

    def report(self, values: dict[str, float], policy_version: int) -> None:
        """Publish metrics."""
        self._portal.call(self._report, values, policy_version)

    def bury(self, message: Message, error: RecordError) -> None:
        """Keep a record that cannot be trained on as a dead letter."""
        self._portal.call(self._stream.bury, message, error)

    async def _check(self, offsets: Sequence[Receipt]) -> None:
        ends: dict[TopicPartition, int] = {}
        for topic in (topics.GROUPS, topics.COLLAPSED):
            ends |= {place: b.next for place, b in (await self._stream.bounds(topic)).items()}
        for topic, partition, offset in offsets:
            if (end := ends.get(TopicPartition(topic, partition), 0)) < offset:
                raise ConfigError(
                    f"run.broker: {topic}, partition {partition} ends at {end}, but the checkpoint had "
                    f"read to {offset}: this is not the stream it was trained from. Bring that one back, or "
                    "set another run.directory and start from the newest snapshot"
                )

    async def _report(self, values: dict[str, float], policy_version: int) -> None:
        await telemetry.report(self._stream, values, policy_version=policy_version)

    async def _read(self, start: dict[TopicPartition, int]) -> None:
        async with (
            self._send,
            self._stream.reader(topics.GROUPS, topics.COLLAPSED, start=start) as deliveries,
        ):
            async for delivery in deliveries:
                await self._send.send(delivery)

    async def _take(self, timeout: float) -> list[Delivery[Group]]:
        taken: list[Delivery[Group]] = []
        with anyio.move_on_after(timeout):
            try:
                taken.append(await self._receive.receive())
                while len(taken) < READ_AHEAD:
                    taken.append(self._receive.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream):
                pass
        return taken

    async def _reread(self, places: Sequence[Receipt]) -> list[Delivery[Group]]:
        wanted, found = set(places), dict[Receipt, Delivery[Group]]()
        first: dict[TopicPartition, int] = {}
        for place in places:
            partition = TopicPartition(place.topic, place.partition)
            first[partition] = min(first.get(partition, place.offset), place.offset)
        for topic in (topics.GROUPS, topics.COLLAPSED):
            bounds = await self._stream.bounds(topic)
            start = {p: max(b.first, first.get(p, b.next)) for p, b in bounds.items()}
            async with self._stream.reader(topic, start=start, follow=False, on_gap="earliest") as deliveries:
                async for delivery in deliveries:
                    if (place := place_of(delivery.message)) in wanted:
                        found[place] = delivery
        self._miss([place for place in places if place not in found])
        return [found[place] for place in places if place in found]

    def _miss(self, gone: Sequence[Receipt]) -> None:
        if not gone:
            return
        topic, partition, offset = gone[0]
        first = f"the first one from {topic}, partition {partition}, offset {offset}"
        if self._stream.settings.on_gap == "fail":
            raise OffsetGap(
                f"{len(gone)} groups that waited for a batch are gone, {first}: retention was faster. Raise "
                "topics.groups.retention_hours and .retention_bytes to cover the time a run may pause; with "
                'topics.on_gap = "earliest" training goes on without them'
            )
        log.warning("%d groups that waited for a batch are gone, %s: going on without them", len(gone), first)
        self._stream.records_skipped += len(gone)


def place_of(message: Message) -> Receipt:
    """Where a message stands."""
    return Receipt(message.topic, message.partition, message.offset)


@contextmanager
def connect(config: Config) -> Iterator[Intake]:
    """The run's stream, as the trainer."""
    with (
        start_blocking_portal(backend="trio") as portal,
        portal.wrap_async_context_manager(streams.opened(config, "trainer")) as stream,
    ):
        intake = Intake(portal, stream)
        try:
            yield intake
        finally:
            intake.stop()
