"""The run's stream, for a thread that must not wait on an event loop: it runs on one of its own.

The main thread belongs to torch. It calls in here and waits; reading goes on meanwhile, decoded and
bounded, so that a batch is at hand when the step before it ends.
"""

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

import schemas
from mentor_stream import stream as streams
from mentor_stream import telemetry, topics
from mentor_stream.broker import Message, Receipt, TopicPartition
from mentor_stream.config import Config
from mentor_stream.stream import Delivery, Stream
from mentor_stream.topics import Topic
from schemas import Group, RecordError
from trainer.intake import places
from trainer.intake.marks import Mark
from trainer.intake.starvation import Situation, situation

R = TypeVar("R", bound=schemas.Record)

READ_AHEAD = 64
"""Groups decoded and not yet taken; behind it the reader pauses."""


class TrainerStream:
    """Everything the training thread asks of the stream. Only that thread may call it."""

    def __init__(self, portal: BlockingPortal, stream: Stream) -> None:
        self._portal, self._stream = portal, stream
        self._reading: Future[None] | None = None
        self._send, self._receive = anyio.create_memory_object_stream[Delivery[Group]](READ_AHEAD)

    def check(self, offsets: Sequence[Receipt], marks: Sequence[Mark] = ()) -> None:
        """Raise ConfigError when these offsets and marks are of another stream: see places.check."""
        self._portal.call(places.check, self._stream, offsets, marks)

    def reread(self, wanted: Sequence[Receipt]) -> list[Delivery[Group]]:
        """The groups at these places, in the order given: see places.reread."""
        return self._portal.call(places.reread, self._stream, wanted) if wanted else []

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

    def is_collapsed(self, message: Message) -> bool:
        """Whether a group came over the topic of collapsed groups."""
        return message.topic == self._stream.name(topics.COLLAPSED)

    def publish(self, topic: Topic[R], record: R) -> None:
        """Append a record; it is durable on return."""
        self._portal.call(self._stream.publish, topic, record)

    def report(self, values: dict[str, float], policy_version: int) -> None:
        """Publish metrics."""
        self._portal.call(partial(telemetry.report, self._stream, values, policy_version=policy_version))

    def situation(self) -> Situation:
        """Why no group comes."""
        return self._portal.call(situation, self._stream)

    def bury(self, message: Message, error: RecordError) -> None:
        """Keep a record that cannot be trained on as a dead letter."""
        self._portal.call(self._stream.bury, message, error)

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


@contextmanager
def connect(config: Config) -> Generator[TrainerStream]:
    """The run's stream, as the trainer."""
    with (
        start_blocking_portal(backend="trio") as portal,
        portal.wrap_async_context_manager(streams.opened(config, "trainer")) as stream,
    ):
        connected = TrainerStream(portal, stream)
        try:
            yield connected
        finally:
            connected.stop()
