"""A member of a consumer group: hands out messages, renews its lease, commits what is done."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import Message, OnGap
from mentor_stream.broker.sqlite.database import Database
from mentor_stream.broker.sqlite.lane import Cursor, Lane
from mentor_stream.broker.sqlite.membership import Claim, Membership
from mentor_stream.broker.sqlite.pace import Pace
from mentor_stream.broker.sqlite.watch import Signal, Watch

COMMIT_SECONDS = 0.1
BEATS_PER_LEASE = 5


class SqliteConsumer:
    """See broker.base.Consumer."""

    def __init__(
        self, database: Database, membership: Membership, topics: Sequence[str], prefetch: int, on_gap: OnGap
    ) -> None:
        self._database, self._membership = database, membership
        self._lanes = {topic: Lane(prefetch, on_gap) for topic in topics}
        self._beat = membership.lease / BEATS_PER_LEASE
        self._expires = 0.0
        self._turn = anyio.Lock(fast_acquire=True)
        self._pace = Pace()
        self._news, self._upkeep = Signal(), Signal()

    @property
    def skipped(self) -> int:
        """See Consumer.skipped."""
        return sum(lane.skipped for lane in self._lanes.values())

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await self._pace.keep()
        lane = self._at_hand()
        if lane is not None and time.monotonic() < self._expires:
            return lane.next()
        async with self._turn:
            while True:
                lane = await self._ready()
                if lane is not None and time.monotonic() < self._expires:
                    return lane.next()
                # With the lease run out (this process was stopped) the partitions may be another's by now.
                await self._news.wait()

    def done(self, message: Message) -> None:
        """See Consumer.done."""
        self._lanes[message.topic].done(message)
        self._news.give()
        self._upkeep.give()

    def changed(self) -> None:
        """Something was written to the file."""
        for lane in self._lanes.values():
            lane.stale = True
        self._news.give()
        self._upkeep.give()

    async def renew(self) -> None:
        """Commit, prolong the lease, take note of what is ours."""
        commits = self._committable()
        standing = await self._database.write(partial(self._membership.renew, commits=commits))
        for cursor in self._cursors():
            position = commits.get(Claim(cursor.partition, cursor.epoch))
            if position is not None:
                cursor.prefix.committed(position)
        self._expires = standing.expires
        held = [
            Cursor(claim.partition, standing.places[claim.partition], committed, epoch=claim.epoch)
            for claim, committed in standing.claims.items()
        ]
        for topic, lane in self._lanes.items():
            lane.assign(cursor for cursor in held if cursor.place.topic == topic)
        self._news.give()

    async def keep(self) -> None:
        """Stay a member: renew in time, when something is to be committed, when partitions change hands."""
        while True:
            with anyio.move_on_after(self._beat):
                await self._upkeep.wait()
            due = time.monotonic() > self._expires - self._membership.lease + self._beat
            if due or self._committable() or await self._database.read(self._membership.unsettled):
                await self.renew()
            await anyio.sleep(min(COMMIT_SECONDS, self._beat))

    async def leave(self) -> None:
        """Commit and give the partitions back, also when cancelled."""
        with anyio.CancelScope(shield=True):
            await self._database.write(partial(self._membership.leave, commits=self._committable()))

    def _at_hand(self) -> Lane | None:
        """As `_ready`, where no topic that comes first has to be looked at; the most frequent case by far."""
        for lane in self._lanes.values():
            if (at_hand := lane.at_hand) is None:
                return None
            if at_hand:
                return lane
        return None

    async def _ready(self) -> Lane | None:
        """The first topic, in order of preference, that has a message to hand out."""
        for lane in self._lanes.values():
            if await lane.ready(self._database):
                return lane
        return None

    def _cursors(self) -> list[Cursor]:
        return [cursor for lane in self._lanes.values() for cursor in lane.cursors.values()]

    def _committable(self) -> Mapping[Claim, int]:
        positions = {Claim(c.partition, c.epoch): c.prefix.committable() for c in self._cursors()}
        return {claim: position for claim, position in positions.items() if position is not None}


@asynccontextmanager
async def joined(consumer: SqliteConsumer, watch: Watch) -> AsyncGenerator[None]:
    """The consumer as a member of its group, from now to the end of the context."""
    await consumer.renew()
    try:
        with watch.listening(consumer.changed):
            async with beside(consumer.keep):
                yield
    finally:
        await consumer.leave()
