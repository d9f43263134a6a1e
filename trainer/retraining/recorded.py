"""What a run has recorded: its groups in the order of time over all partitions, and the losses it told."""

import heapq
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from anyio.from_thread import BlockingPortal, start_blocking_portal

import schemas
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import EARLIEST, Broker, Message, Reader, TopicPartition
from mentor_stream.stream import Delivery
from mentor_stream.topics import LARGEST_RECORD_BYTES
from schemas import Group, Metric

TAKE = 64
"""Groups decoded at a time."""
READ_AHEAD = 16
"""Groups of each partition: all partitions are open at once, for the earliest of their next ones."""


class Recorded:
    """One pass over `groups` and `collapsed`, which ends where they ended at the start."""

    def __init__(self, broker: Broker, run: str, readers: dict[TopicPartition, Reader]) -> None:
        self.unreadable = 0
        """Records that were passed over: training made dead letters of them."""
        self._broker, self._run, self._readers = broker, run, readers
        self._next: list[tuple[float, TopicPartition, int, Message]] = []
        self._begun = False

    @property
    def holds_any(self) -> bool:
        """Whether there is a group at all."""
        return bool(self._readers)

    async def take(self, count: int) -> list[Delivery[Group]]:
        """The next ones, as many as that; none at the end. Equal times go by topic and partition."""
        if not self._begun:
            self._begun = True
            for place in self._readers:
                await self._advance(place)
        taken: list[Delivery[Group]] = []
        while self._next and len(taken) < count:
            *_, message = heapq.heappop(self._next)
            await self._advance(message.place)
            try:
                group = schemas.decode(message.value, Group, max_bytes=LARGEST_RECORD_BYTES)
            except schemas.RecordError:
                self.unreadable += 1
            else:
                taken.append(Delivery(group, message, _keep))
        return taken

    async def losses(self) -> dict[int, float]:
        """The loss that the run told of each version, the last word on each."""
        told: dict[int, float] = {}
        start = dict.fromkeys(await self._broker.bounds(topics.METRICS.of(self._run)), EARLIEST)
        async with self._broker.reader(start, follow=False, on_gap="earliest") as messages:
            async for message in messages:
                try:
                    metric = schemas.decode(message.value, Metric, max_bytes=LARGEST_RECORD_BYTES)
                except schemas.RecordError:
                    continue
                if metric.component == "trainer" and metric.policy_version is not None:
                    told.pop(metric.policy_version, None)  # trained once more without a step, it has none
                    if "loss" in metric.values:
                        told[metric.policy_version] = metric.values["loss"]
        return told

    async def _advance(self, place: TopicPartition) -> None:
        message = await anext(aiter(self._readers[place]), None)
        if message is not None:
            heapq.heappush(self._next, (message.timestamp, place, message.offset, message))


@asynccontextmanager
async def recorded(url: str, run: str) -> AsyncGenerator[Recorded]:
    """What the run holds now, for the block. Raises BrokerError, UnknownTopic."""
    async with brokers.connect(url, create=False) as broker, AsyncExitStack() as stack:
        readers: dict[TopicPartition, Reader] = {}
        for topic in (topics.GROUPS, topics.COLLAPSED):
            for place, kept in (await broker.bounds(topic.of(run))).items():
                if kept.first < kept.next:
                    reader = broker.reader(
                        {place: kept.first}, follow=False, prefetch=READ_AHEAD, on_gap="earliest"
                    )
                    readers[place] = await stack.enter_async_context(reader)
        yield Recorded(broker, run, readers)


@contextmanager
def opened(url: str, run: str) -> Generator[tuple[BlockingPortal, Recorded]]:
    """The same for who does not run under an event loop, with the portal to call it through."""
    with (
        start_blocking_portal(backend="trio") as portal,
        portal.wrap_async_context_manager(recorded(url, run)) as found,
    ):
        yield portal, found


def arrivals(portal: BlockingPortal, found: Recorded) -> Iterator[Delivery[Group]]:
    """The groups, one after the other."""
    while taken := portal.call(found.take, TAKE):
        yield from taken


def _keep(_: Message) -> None:
    """Nothing is to be released."""
