"""Being the only one on a cluster: the only member of a group.

Nobody joins a group that has a member, and whoever has joined looks again: the group's coordinator answers in
one order, so of two that join at once at least one sees the other, and leaves. Who holds the claim keeps it
as long as it keeps its membership; who lost that (a process that hung) must be alone again.
"""

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from kafka import KafkaConsumer as RawConsumer

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerUnavailable, Claimed
from mentor_stream.broker.kafka.admin import Admin
from mentor_stream.broker.kafka.client import POLL_SECONDS, Client, opened
from mentor_stream.broker.kafka.lane import group_id
from mentor_stream.broker.kafka.messages import close, consumer_options
from mentor_stream.broker.kafka.settings import ConnectionSettings

MARGIN_SECONDS = 2.0
"""So much later than its session_timeout a dead member has certainly left."""
JOIN_SECONDS = 60.0
"""For the cluster to take a member: to its first one ever it makes the topic that groups are kept in."""


class Membership:
    """Ours in a group, with a client of its own that keeps it alive."""

    def __init__(self, client: Client[RawConsumer], admin: Admin, group: str) -> None:
        self._client, self._admin, self._group = client, admin, group
        self._id = ""

    async def join(self, seconds: float) -> None:
        """Become a member. Raises BrokerUnavailable where that takes longer."""
        with anyio.move_on_after(seconds):
            while not self._id:
                self._id = await self._client.call(_turn)
        if not self._id:
            raise self._client.unavailable(f"it took no member into group {self._group} within {seconds:g} s")

    async def rival(self) -> str | None:
        """Who else is a member."""
        return await rival(self._admin, self._group, self._id)

    async def keep(self) -> None:
        """Stay a member. Raises Claimed when we were taken for dead and another came meanwhile."""
        while True:
            try:
                member = await self._client.call(_turn)
                if member and member != self._id:
                    self._id = member
                    if (other := await self.rival()) is not None:
                        raise Claimed(other)
            except BrokerUnavailable:
                await anyio.sleep(POLL_SECONDS)


async def rival(admin: Admin, group: str, own: str = "") -> str | None:
    """What a member of the group that is not `own` calls itself, or None."""
    members = await admin.members(group)
    return next((holder for member, holder in members.items() if member != own), None)


@asynccontextmanager
async def claimed(
    settings: ConnectionSettings, admin: Admin, topic: str, group: str, holder: str
) -> AsyncGenerator[None]:
    """See Broker.claim. A dead one is waited for until the cluster takes it for dead."""
    name = group_id(group, topic)
    overdue = anyio.current_time() + settings.session_timeout + MARGIN_SECONDS
    while True:
        other = await rival(admin, name)
        if other is None:
            async with _joined(settings, admin, topic, name, holder) as membership:
                other = await membership.rival()
                if other is None:
                    async with beside(membership.keep):
                        yield
                    return
        if anyio.current_time() > overdue:
            raise Claimed(other)
        await anyio.sleep(random.uniform(0.1, 1.0))  # noqa: S311  two that joined at once part


@asynccontextmanager
async def _joined(
    settings: ConnectionSettings, admin: Admin, topic: str, group: str, holder: str
) -> AsyncGenerator[Membership]:
    # what the topic holds is nothing to us: a member has to name one
    options = consumer_options(settings) | {
        "group_id": group,
        "client_id": holder,
        "auto_offset_reset": "latest",
    }
    async with opened(RawConsumer, close, settings, **options) as client:
        membership = Membership(client, admin, group)
        await client.call(lambda raw: raw.subscribe(topics=[topic]))
        await membership.join(max(JOIN_SECONDS, settings.connect_timeout))
        yield membership


def _turn(raw: Any) -> str:
    """Do what a member has to; its id, empty while it is none."""
    raw.poll(timeout_ms=round(POLL_SECONDS * 1000))
    generation = raw._coordinator.generation_if_stable()
    return "" if generation is None else generation.member_id
