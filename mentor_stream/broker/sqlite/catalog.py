"""Which topics there are, their partitions and their limits."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from mentor_stream.broker.base import BrokerError, TopicPartition, TopicSpec, UnknownTopic
from mentor_stream.broker.sqlite.database import Database


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the file knows it; `partitions` are the ids under which its messages are kept."""

    id: int
    name: str
    partitions: tuple[int, ...]
    retention_seconds: float | None
    retention_bytes: int | None
    max_message_bytes: int

    def partition_of(self, key: bytes) -> int:
        """The number of the partition that messages of this key go to, the same in every process."""
        return crc32(key) % len(self.partitions)

    def places(self) -> dict[int, TopicPartition]:
        """Partition ids and what the contract calls them."""
        return {key: TopicPartition(self.name, number) for number, key in enumerate(self.partitions)}


class Catalog:
    """Looks topics up and remembers them: a topic never changes and never goes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Topic] = {}

    async def topic(self, name: str) -> Topic:
        """The topic called `name`. Raises UnknownTopic."""
        if name not in self._known:
            self._known = {topic.name: topic for topic in await self.all()}
        if name not in self._known:
            raise UnknownTopic(
                f"{self._database.location.path} has no topic {name!r}: start a component of that run, "
                "each creates what it uses, or correct run.name"
            )
        return self._known[name]

    async def all(self) -> list[Topic]:
        """Every topic, as of now."""
        return await self._database.read(_topics)

    async def create(self, specs: Sequence[TopicSpec]) -> None:
        """Create the topics that do not exist. Raises BrokerError for one without partitions."""
        for spec in specs:
            if spec.partitions < 1:
                raise BrokerError(f"topic {spec.name}: partitions is {spec.partitions}; use 1 or more")
        existing = {topic.name for topic in await self.all()}
        missing = [spec for spec in specs if spec.name not in existing]
        if missing:
            await self._database.write(lambda connection: [_create(connection, spec) for spec in missing])


def _topics(connection: sqlite3.Connection) -> list[Topic]:
    partitions: dict[int, list[int]] = {}
    for topic, partition in connection.execute("SELECT topic, id FROM partitions ORDER BY topic, number"):
        partitions.setdefault(topic, []).append(partition)
    rows = connection.execute(
        "SELECT id, name, retention_seconds, retention_bytes, max_message_bytes FROM topics"
    )
    return [Topic(row[0], row[1], tuple(partitions[row[0]]), *row[2:]) for row in rows]


def _create(connection: sqlite3.Connection, spec: TopicSpec) -> None:
    added = connection.execute(
        "INSERT INTO topics (name, retention_seconds, retention_bytes, max_message_bytes) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING id",
        (spec.name, spec.retention_seconds, spec.retention_bytes, spec.max_message_bytes),
    ).fetchone()
    if added:
        connection.executemany(
            "INSERT INTO partitions (topic, number) VALUES (?, ?)",
            [(added[0], number) for number in range(spec.partitions)],
        )
