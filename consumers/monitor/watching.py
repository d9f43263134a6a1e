"""Keeps the board up to date: one reader for everybody who looks, outside any consumer group."""

import logging
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import anyio

from consumers import following
from consumers.monitor.board import Board, Queue, Stand
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import Broker, BrokerError, TopicPartition
from mentor_stream.broker.background import beside
from mentor_stream.causes import causes
from mentor_stream.topics import Topic

log = logging.getLogger(__name__)

LESSONS = (topics.GUIDED, topics.DIAGNOSES, topics.GROUPS, topics.COLLAPSED)
RUNNING = (topics.METRICS, topics.POLICIES)
QUEUES = ((topics.QUERIES, "rollout"), (topics.GUIDED, "rollout"), (topics.COLLAPSED, "mentor"))
LAST = 1_000
"""Records of every partition that are read at the start; what is older is read when it is asked for."""
TELL_SECONDS = 0.5
QUEUE_SECONDS = 2.0
RECONNECT_SECONDS = 2.0
PATIENCE_SECONDS = 10.0
"""For an answer about queues; then the broker counts as away."""
_SILENT = f"no answer within {PATIENCE_SECONDS:.0f} s"


class Watching:
    """Follows one run until cancelled; a broker that is away, or a run that has not begun, is waited for."""

    def __init__(self, url: str, board: Board) -> None:
        self._url, self._board = url, board
        self._places: dict[TopicPartition, int] = {}
        """Where reading goes on, of each partition."""
        self.broker: Broker | None = None
        """The connection, while there is one."""

    async def run(self) -> None:
        """Never returns."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell)
            while True:
                try:
                    await self._connected()
                except* BrokerError as errors:
                    self._away(str(causes(errors)[0]))
                await anyio.sleep(RECONNECT_SECONDS)

    async def catch_up(self) -> None:
        """Read what there is now, once. Raises BrokerError."""
        async with brokers.connect(self._url, create=False) as broker:
            await self._ask(broker)
            await self._read(broker, RUNNING, follow=False)
            await self._read(broker, LESSONS, follow=False)
        self._board.caught_up = True
        self._board.tell(float("inf"))

    async def _connected(self) -> None:
        async with brokers.connect(self._url, create=False) as broker:
            try:
                async with anyio.create_task_group() as tasks:
                    await self._ask(broker)
                    self.broker = broker
                    tasks.start_soon(self._keep_asking, broker)
                    tasks.start_soon(self._follow_lessons, broker)
                    await self._read(broker, RUNNING, follow=True)
            finally:
                self.broker = None

    async def _follow_lessons(self, broker: Broker) -> None:
        await self._read(broker, LESSONS, follow=False)
        self._board.caught_up = True
        self._board.tell(float("inf"))
        await self._read(broker, LESSONS, follow=True)

    async def _read(self, broker: Broker, wanted: Sequence[Topic[Any]], *, follow: bool) -> None:
        run = self._board.run
        start = await following.since(broker, run, (topics.METRICS,), 0.0) if topics.METRICS in wanted else {}
        start |= await following.last(broker, run, [t for t in wanted if t is not topics.METRICS], LAST)
        start = {place: self._places.get(place, offset) for place, offset in start.items()}
        async with aclosing(following.events(broker, run, wanted, start, follow=follow)) as events:
            async for event in events:
                if event.topic in LESSONS and event.place not in self._places and event.offset > 0:
                    self._board.index.begins(event.time)
                self._places[event.place] = event.offset + 1
                self._board.take(event)

    async def _keep_asking(self, broker: Broker) -> None:
        while True:
            await anyio.sleep(QUEUE_SECONDS)
            try:
                async with beside(self._lose_patience):
                    await self._ask(broker)
            except BrokerError as error:
                self._away(str(error))

    async def _lose_patience(self) -> None:
        """A question that a broker has been asked cannot be cut short: its silence is told meanwhile."""
        await anyio.sleep(PATIENCE_SECONDS)
        self._away(_SILENT)

    async def _ask(self, broker: Broker) -> None:
        """How much work waits, which also shows whether the broker answers. Raises BrokerError."""
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                run = self._board.run
                queues = [
                    Queue(topic.name, reader, await broker.lag(topic.of(run), topic.group_of(run)))
                    for topic, reader in QUEUES
                ]
                letters = await broker.bounds(topics.DEAD_LETTERS.of(run))
        except TimeoutError as error:
            raise brokers.BrokerUnavailable(_SILENT) from error
        dead = sum(bounds.next - bounds.first for bounds in letters.values())
        self._board.hear(Stand(time.time(), tuple(queues), dead))

    def _away(self, reason: str) -> None:
        before = self._board.stand
        if before.away != reason:
            log.warning("nothing new to show: %s", reason)
        self._board.hear(Stand(before.asked, before.queues, before.dead_letters, reason))

    async def _tell(self) -> None:
        while True:
            await anyio.sleep(TELL_SECONDS)
            self._board.tell(max(time.time(), self._board.newest))
