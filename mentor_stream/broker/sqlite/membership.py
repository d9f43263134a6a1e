"""A consumer group in the file: who lives, who reads what, how far. Runs in worker threads.

`wanted` says who shall read a partition, `owner` who does. A partition changes hands in two steps: its
owner commits and lets go, then the wanted member takes it under a new epoch; of a dead owner it is taken
when the lease has run out. As a row has one owner and each commit checks owner and epoch in its own
transaction, no partition is read by two members, and one that was taken for dead commits nothing.
"""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from mentor_stream.broker.base import EARLIEST, TopicPartition
from mentor_stream.broker.sqlite.assignment import balance


class Claim(NamedTuple):
    """A partition in the hands of this member. A later claim to the same partition is another one."""

    partition: int
    epoch: int


class Standing(NamedTuple):
    """What a member holds, safe until `expires` (monotonic seconds)."""

    claims: dict[Claim, int]
    """With the committed offsets; EARLIEST while the group has committed none."""
    places: dict[int, TopicPartition]
    """What the contract calls the partitions."""
    expires: float


@dataclass(frozen=True, slots=True)
class Membership:
    """One member of a group; every method is one transaction.

    Times are the machine's monotonic clock, which all its processes share and no clock change moves. One
    that lies in the future is of before a restart of the machine, so its member is dead.
    """

    group: str
    name: str
    topics: Sequence[int]
    lease: float

    def renew(self, connection: sqlite3.Connection, commits: Mapping[Claim, int]) -> Standing:
        """Commit, show a sign of life (or join, or join again), bury the dead, let go and take over."""
        now = time.monotonic()
        self._commit(connection, commits)
        if self._expel(connection, now) | self._appear(connection, now) | self._cover(connection):
            self._balance(connection)
        self._change_hands(connection)
        owned = connection.execute(
            "SELECT partition, epoch, committed, name, number FROM assignments"
            " JOIN partitions ON partitions.id = partition JOIN topics ON topics.id = topic"
            " WHERE consumers = ? AND owner = ?",
            (self.group, self.name),
        ).fetchall()
        claims = {Claim(partition, epoch): committed for partition, epoch, committed, *_ in owned}
        places = {partition: TopicPartition(*place) for partition, _, _, *place in owned}
        return Standing(claims, places, now + self.lease)

    def leave(self, connection: sqlite3.Connection, commits: Mapping[Claim, int]) -> None:
        """Commit, and leave the partitions to the others at once."""
        self._commit(connection, commits)
        if self._remove(connection, self.name):
            self._balance(connection)

    def unsettled(self, connection: sqlite3.Connection) -> bool:
        """Whether others wait for this member, or something waits for it: renew. Writes nothing."""
        (unsettled,) = connection.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM members WHERE consumers = :group AND name = :name)"
            " OR EXISTS (SELECT 1 FROM assignments WHERE consumers = :group AND ("
            "   owner = :name AND wanted IS NOT :name OR owner IS NULL AND wanted = :name))"
            " OR EXISTS (SELECT 1 FROM partitions WHERE topic IN (SELECT value FROM json_each(:topics))"
            "   AND NOT EXISTS (SELECT 1 FROM assignments WHERE consumers = :group AND partition = id))",
            {"group": self.group, "name": self.name, "topics": self._topics()},
        ).fetchone()
        return bool(unsettled)

    def _commit(self, connection: sqlite3.Connection, commits: Mapping[Claim, int]) -> None:
        connection.executemany(
            "UPDATE assignments SET committed = ?"
            " WHERE consumers = ? AND partition = ? AND owner = ? AND epoch = ?",
            [
                (offset, self.group, claim.partition, self.name, claim.epoch)
                for claim, offset in commits.items()
            ],
        )

    def _expel(self, connection: sqlite3.Connection, now: float) -> bool:
        dead = connection.execute(
            "SELECT name FROM members WHERE consumers = ? AND name <> ? AND (seen > ? OR seen + lease < ?)",
            (self.group, self.name, now, now),
        ).fetchall()
        for (name,) in dead:
            self._remove(connection, name)
        return bool(dead)

    def _remove(self, connection: sqlite3.Connection, name: str) -> bool:
        connection.execute(
            "UPDATE assignments SET owner = NULL WHERE consumers = ? AND owner = ?", (self.group, name)
        )
        gone = connection.execute("DELETE FROM members WHERE consumers = ? AND name = ?", (self.group, name))
        return gone.rowcount > 0

    def _appear(self, connection: sqlite3.Connection, now: float) -> bool:
        """The sign of life; True when it is the first one."""
        known = connection.execute(
            "UPDATE members SET seen = ? WHERE consumers = ? AND name = ?", (now, self.group, self.name)
        )
        if known.rowcount:
            return False
        connection.execute(
            "INSERT INTO members (consumers, name, topics, seen, lease) VALUES (?, ?, ?, ?, ?)",
            (self.group, self.name, self._topics(), now, self.lease),
        )
        return True

    def _cover(self, connection: sqlite3.Connection) -> bool:
        """Let the group have partitions of our topics that it did not know; True when there were any."""
        added = connection.execute(
            "INSERT INTO assignments (consumers, partition, committed) SELECT ?, id, ? FROM partitions"
            " WHERE topic IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING",
            (self.group, EARLIEST, self._topics()),
        )
        return added.rowcount > 0

    def _topics(self) -> str:
        return msgspec.json.encode(self.topics).decode()

    def _balance(self, connection: sqlite3.Connection) -> None:
        members = [
            (name, set(msgspec.json.decode(topics, type=list[int])))
            for name, topics in connection.execute(
                "SELECT name, topics FROM members WHERE consumers = ? ORDER BY number", (self.group,)
            )
        ]
        topics: dict[int, list[int]] = {}
        current: dict[int, str] = {}
        for partition, topic, wanted in connection.execute(
            "SELECT partitions.id, topic, wanted FROM assignments JOIN partitions ON id = partition"
            " WHERE consumers = ? ORDER BY topic, partitions.number",
            (self.group,),
        ):
            topics.setdefault(topic, []).append(partition)
            current[partition] = wanted
        readers = [[name for name, wants in members if topic in wants] for topic in topics]
        assigned = balance(list(topics.values()), readers, current)
        connection.executemany(
            "UPDATE assignments SET wanted = ? WHERE consumers = ? AND partition = ?",
            [(assigned.get(partition), self.group, partition) for partition in current],
        )

    def _change_hands(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE assignments SET owner = NULL WHERE consumers = ? AND owner = ? AND wanted IS NOT ?",
            (self.group, self.name, self.name),
        )
        connection.execute(
            "UPDATE assignments SET owner = ?, epoch = epoch + 1"
            " WHERE consumers = ? AND wanted = ? AND owner IS NULL",
            (self.name, self.group, self.name),
        )


def lag(connection: sqlite3.Connection, group: str, partitions: Sequence[int]) -> int:
    """Messages kept in the partitions that the group has not committed yet."""
    (count,) = connection.execute(
        "SELECT coalesce(sum(max(0, next - max(first, coalesce(committed, 0)))), 0) FROM partitions"
        " LEFT JOIN assignments ON partition = id AND consumers = ?"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (group, msgspec.json.encode(partitions).decode()),
    ).fetchone()
    return count
