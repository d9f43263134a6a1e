"""The run's stream, for a thread that must not wait on an event loop: it runs on one of its own.

The main thread belongs to torch. It calls in here and waits; meanwhile groups are read, decoded, booked, cut
into the next batch and packed, so that it is at hand when the step before it ends. No more than that one is
made ahead: then reading pauses.
"""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal

import schemas
from mentor_stream import claims, releases, telemetry, topics
from mentor_stream import stream as streams
from mentor_stream.broker import BrokerError, Receipt, TopicPartition
from mentor_stream.config import Config
from mentor_stream.metrics.catalogue.shared import LAG
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.stream import Delivery, Stream
from mentor_stream.topics import Topic
from schemas import Group, RecordError
from trainer.intake import places
from trainer.intake.marks import Mark
from trainer.intake.preparation import Batch, Preparation, Standing
from trainer.intake.starvation import Situation, situation

R = TypeVar("R", bound=schemas.Record)

log = logging.getLogger(__name__)


class TrainerStream:
    """Everything the training thread asks of the stream. Only that thread may call it."""

    def __init__(self, portal: BlockingPortal, stream: Stream) -> None:
        self._portal, self._stream = portal, stream
        self._preparing: Future[None] | None = None
        self._watching: list[Future[None]] = []
        self._claim: Future[None] | None = None
        self._read_to: dict[TopicPartition, int] = {}
        self._send, self._receive = anyio.create_memory_object_stream[Batch](0)

    def check(self, offsets: Sequence[Receipt], marks: Sequence[Mark] = ()) -> None:
        """Raise ConfigError when these offsets and marks are of another stream: see places.check."""
        self._portal.call(places.check, self._stream, offsets, marks)

    def reread(self, wanted: Sequence[Receipt]) -> list[Delivery[Group]]:
        """The groups at these places, in the order given: see places.reread."""
        return self._portal.call(places.reread, self._stream, wanted) if wanted else []

    def released(self) -> int:
        """The version that the run released last; 0 before the first."""
        newest = self._portal.call(releases.newest, self._stream)
        return newest.policy_version if newest else 0

    def start(self, preparation: Preparation, offsets: Sequence[Receipt]) -> None:
        """Begin to prepare batches: from `offsets`, of other partitions from their start."""
        start = {TopicPartition(o.topic, o.partition): o.offset for o in offsets}
        self._read_to = dict(start)
        self._preparing = self._portal.start_task_soon(self._prepare, preparation, start)

    def watch(self) -> None:
        """Begin to measure, until stopped: whether the broker answers, and what is yet to be dealt with."""
        others = partial(telemetry.watch, self._stream, topics.QUERIES, topics.GUIDED, topics.COLLAPSED)
        self._watching = [self._portal.start_task_soon(watch) for watch in (others, self._watch_groups)]

    def beat(self, present: Callable[[Standing], Mapping[str, float]], preparation: Preparation) -> None:
        """Begin to report, until stopped, what `present` makes of how things stand, every few seconds.

        A training thread that hangs makes it cease: a beat says that training turns.
        """
        self._watching.append(self._portal.start_task_soon(self._beat, present, preparation))

    def claim(self, config: Config) -> None:
        """Be the run's only trainer until stopped. Raises Taken where there is another."""
        self._claim, _ = self._portal.start_task(self._only, config)

    def stop(self) -> None:
        """End reading and measuring, and make room for another trainer."""
        for task in (self._preparing, *self._watching, self._claim):
            if task is not None:
                task.cancel()

    def take(self, preparation: Preparation, timeout: float) -> Batch | Standing:
        """The next batch; or how things stand, when it is not ready after `timeout` seconds or will never be.

        Raises what reading raised, and Taken when another trainer has the run.
        """
        for task in (self._claim, self._preparing):
            if task is not None and task.done():
                task.result()
        return self._portal.call(self._take, preparation, timeout)

    def publish(self, topic: Topic[R], record: R) -> None:
        """Append a record; it is durable on return."""
        self._portal.call(self._stream.publish, topic, record)

    def report(self, values: dict[str, float], policy_version: int | None) -> None:
        """Publish metrics: of a step with its version, of the present without."""
        self._portal.call(partial(telemetry.report, self._stream, values, policy_version=policy_version))

    def situation(self) -> Situation:
        """Why no group comes."""
        return self._portal.call(situation, self._stream)

    async def _only(self, config: Config, *, task_status: TaskStatus[None]) -> None:
        async with claims.only(self._stream, config):
            task_status.started()
            await anyio.sleep_forever()

    async def _prepare(self, preparation: Preparation, start: dict[TopicPartition, int]) -> None:
        async with (
            self._send,
            self._stream.reader(topics.GROUPS, topics.COLLAPSED, start=start) as deliveries,
        ):
            while not preparation.is_over:
                delivery = await anext(deliveries)
                self._read_to[delivery.message.place] = delivery.message.offset + 1
                usable = await self._is_usable(delivery, preparation.problem(delivery.record))
                collapsed = delivery.message.topic == self._stream.name(topics.COLLAPSED)
                if batch := preparation.arrive(delivery, collapsed=collapsed, usable=usable):
                    await self._send.send(await to_thread.run_sync(preparation.packed, batch))

    async def _is_usable(self, delivery: Delivery[Group], problem: RecordError | None) -> bool:
        if problem:
            log.warning(
                "group %s cannot be trained on, see dead-letters: %s", delivery.record.group_id, problem
            )
            await self._stream.bury(delivery.message, problem)
        return problem is None

    async def _watch_groups(self) -> None:
        """Of `groups` no group of readers tells: the trainer keeps its place itself."""
        while True:
            with suppress(BrokerError):  # told by telemetry.watch
                bounds = await self._stream.bounds(topics.GROUPS)
                READINGS.set(LAG, places.unread(bounds, self._read_to), topics.GROUPS.name, "trainer")
            await anyio.sleep(telemetry.LOOK_SECONDS)

    async def _beat(
        self, present: Callable[[Standing], Mapping[str, float]], preparation: Preparation
    ) -> None:
        while True:
            await anyio.sleep(telemetry.BEAT_SECONDS)
            if not HEALTH.stuck():
                await telemetry.offer(self._stream, present(preparation.standing))

    async def _take(self, preparation: Preparation, timeout: float) -> Batch | Standing:
        with anyio.move_on_after(timeout), suppress(anyio.EndOfStream):
            return await self._receive.receive()
        return preparation.standing


@contextmanager
def connect(config: Config) -> Generator[TrainerStream]:
    """The run's stream, as the trainer."""
    with (
        start_blocking_portal(backend="trio") as portal,
        portal.wrap_async_context_manager(streams.opened(config, "trainer")) as stream,
    ):
        connected = TrainerStream(portal, stream)
        try:
            connected.claim(config)
            connected.watch()
            yield connected
        finally:
            connected.stop()
