"""What somebody does to a cluster behind our back, with kafka-python alone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

T = TypeVar("T")


class Operator:
    """Works on the cluster at host:port. Each call returns when it is done."""

    def __init__(self, servers: str) -> None:
        self._servers = servers

    async def delete_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """As retention would: the partitions keep nothing before these offsets."""
        wanted = {KafkaPartition(topic, partition): offset for partition, offset in offsets.items()}
        await self._do(lambda admin: admin.delete_records(wanted))

    async def delete(self, topic: str) -> None:
        """Delete the topic, and wait until nothing of it is left."""
        await self._do(lambda admin: admin.delete_topics([topic]))
        while topic in await self._do(lambda admin: {found["name"] for found in admin.describe_topics()}):
            await anyio.sleep(0.05)

    async def configure(self, topic: str, changes: Mapping[str, str]) -> None:
        """Change the topic's Kafka configuration."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(changes))
        await self._do(lambda admin: admin.alter_configs([resource]))

    async def commit(self, group: str, topic: str, offset: int) -> None:
        """For a group without members: partition 0 goes on there."""
        wanted = {KafkaPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        await self._do(lambda admin: admin.alter_group_offsets(f"{group}:{topic}", wanted))

    async def members_have(self, group: str, topic: str, *expected: int) -> None:
        """Wait until the group is at rest and its members have so many partitions each."""
        with anyio.fail_after(30):
            while await self._do(partial(_shares, group=f"{group}:{topic}")) != sorted(expected):
                await anyio.sleep(0.05)

    async def _do(self, work: Callable[[Any], T]) -> T:
        return await to_thread.run_sync(self._now, work)

    def _now(self, work: Callable[[Any], T]) -> T:
        admin: Any = KafkaAdminClient(bootstrap_servers=self._servers)
        try:
            return work(admin)
        finally:
            admin.close()


def _shares(admin: Any, group: str) -> list[int]:
    found = admin.describe_groups([group])[group]
    if found["group_state"] != "Stable":
        return []
    return sorted(
        sum(len(topic["partitions"]) for topic in member["member_assignment"]["assigned_partitions"])
        for member in found["members"]
    )
