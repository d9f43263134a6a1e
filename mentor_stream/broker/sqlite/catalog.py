"""Which topics there are, their partitions and their limits. Runs in worker threads.

Topics change, if rarely: they get partitions, another retention, another limit. Every change counts the
catalog's version up, so that who remembers topics knows at the cost of one row whether that still holds.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from mentor_stream.broker.base import BrokerError, TopicPartition, TopicSpec, UnknownTopic


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the file knows it; `partitions` are the ids under which its messages are kept."""

    id: int
    spec: TopicSpec
    partitions: tuple[int, ...]

    def partition_of(self, key: bytes) -> int:
        """The number of the partition that messages of this key go to, the same in every process."""
        return crc32(key) % len(self.partitions)

    def places(self) -> dict[int, TopicPartition]:
        """Partition ids and what the contract calls them."""
        return {key: TopicPartition(self.spec.name, number) for number, key in enumerate(self.partitions)}


class Memory:
    """The topics as of the last `refresh`. Several threads may use it."""

    def __init__(self) -> None:
        self._known: tuple[int, Mapping[str, Topic]] = -1, {}

    def get(self, name: str) -> Topic | None:
        """The topic called `name`, if it is known."""
        return self._known[1].get(name)

    def refresh(self, connection: sqlite3.Connection) -> Mapping[str, Topic]:
        """The topics as this transaction sees them, read only if something changed."""
        known, latest = self._known, version(connection)
        if latest != known[0]:
            self._known = known = latest, topics(connection)
        return known[1]


def version(connection: sqlite3.Connection) -> int:
    """How often topics were created or changed."""
    return connection.execute("SELECT version FROM catalog").fetchone()[0]


def topics(connection: sqlite3.Connection) -> dict[str, Topic]:
    """Every topic by its name."""
    partitions: dict[int, list[int]] = {}
    for topic, partition in connection.execute("SELECT topic, id FROM partitions ORDER BY topic, number"):
        partitions.setdefault(topic, []).append(partition)
    rows = connection.execute(
        "SELECT id, name, retention_seconds, retention_bytes, max_message_bytes FROM topics"
    )
    return {
        name: Topic(key, TopicSpec(name, len(partitions[key]), *limits), tuple(partitions[key]))
        for key, name, *limits in rows
    }


def find(connection: sqlite3.Connection, name: str) -> Topic:
    """The topic called `name`. Raises UnknownTopic."""
    topic = topics(connection).get(name)
    if topic is None:
        raise missing(connection, name)
    return topic


def missing(connection: sqlite3.Connection, name: str) -> UnknownTopic:
    """What to raise when there is no topic called `name`."""
    *_, path = connection.execute("PRAGMA database_list").fetchone()
    return UnknownTopic(
        f"{path} has no topic {name!r}: start a component of that run, each creates what it uses, or correct "
        "run.name"
    )


def create(connection: sqlite3.Connection, specs: Sequence[TopicSpec]) -> None:
    """Create those that do not exist. Raises BrokerError for one without partitions."""
    for spec in specs:
        _refuse_none(spec)
        added = connection.execute(
            "INSERT INTO topics (name, retention_seconds, retention_bytes, max_message_bytes)"
            " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
            (spec.name, spec.retention_seconds, spec.retention_bytes, spec.max_message_bytes),
        ).fetchone()
        if added:
            _add_partitions(connection, added[0], range(spec.partitions))
            _count_up(connection)


def alter(connection: sqlite3.Connection, spec: TopicSpec) -> None:
    """Make the topic what `spec` says. Raises UnknownTopic, BrokerError for fewer partitions."""
    _refuse_none(spec)
    topic = find(connection, spec.name)
    if spec.partitions < len(topic.partitions):
        raise BrokerError(
            f"topic {spec.name} has {len(topic.partitions)} partitions and cannot go down to "
            f"{spec.partitions}: messages would be lost. Use {len(topic.partitions)} or more, or another "
            "run.name"
        )
    connection.execute(
        "UPDATE topics SET retention_seconds = ?, retention_bytes = ?, max_message_bytes = ? WHERE id = ?",
        (spec.retention_seconds, spec.retention_bytes, spec.max_message_bytes, topic.id),
    )
    _add_partitions(connection, topic.id, range(len(topic.partitions), spec.partitions))
    _count_up(connection)


def rename(connection: sqlite3.Connection, topic: int, name: str) -> None:
    """Call a topic, by its id, something else."""
    connection.execute("UPDATE topics SET name = ? WHERE id = ?", (name, topic))
    _count_up(connection)


def remove(connection: sqlite3.Connection, topic: Topic) -> None:
    """Forget a topic without messages that no group has ever read."""
    connection.execute("DELETE FROM partitions WHERE topic = ?", (topic.id,))
    connection.execute("DELETE FROM topics WHERE id = ?", (topic.id,))
    _count_up(connection)


def _refuse_none(spec: TopicSpec) -> None:
    if spec.partitions < 1:
        raise BrokerError(f"topic {spec.name}: partitions is {spec.partitions}; use 1 or more")


def _add_partitions(connection: sqlite3.Connection, topic: int, numbers: range) -> None:
    connection.executemany(
        "INSERT INTO partitions (topic, number) VALUES (?, ?)", [(topic, number) for number in numbers]
    )


def _count_up(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE catalog SET version = version + 1")
