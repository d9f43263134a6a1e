"""The broker's contract: what every engine promises and the rest of the system relies on.

A topic is a set of partitions, each an append-only sequence of messages. Messages of one key go to one
partition and keep their order. Partitions may be added, which sends keys elsewhere from then on; they never
go away. Everything here is in bytes; records are stream.py's.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

EARLIEST = -1
"""As a reader's start: the first message kept, whichever that is when reading begins."""

OnGap = Literal["fail", "earliest"]
"""What happens when the message due next is kept no longer, or never was there: stop with OffsetGap, or go
on with the first one kept and count what is missing."""


class BrokerError(Exception):
    """Anything the broker could not do; the text names the setting and the way out."""


class BrokerUnavailable(BrokerError):
    """The broker did not answer within the time allowed."""


class UnknownTopic(BrokerError):
    """The topic does not exist (create it, or start a component: each creates what it uses)."""


class MessageTooLarge(BrokerError):
    """The message exceeds the topic's max_message_bytes, or key and headers the room left for them."""


class OffsetGap(BrokerError):
    """The messages due next are gone: retention took them, or the position is of another topic of this name.

    Raised where messages are taken, never on the way; `on_gap` says whether it is raised at all.
    """


class Claimed(BrokerError):
    """Another process holds what was to be claimed; the text is what that one said of itself."""


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int


class Receipt(NamedTuple):
    """Where an acknowledged message stands."""

    topic: str
    partition: int
    offset: int


class Bounds(NamedTuple):
    """First offset still kept, and the offset the next message will get."""

    first: int
    next: int


BUFFER_BYTES = 16 * 2**20
"""About how many bytes of a topic a consumer or reader fetches ahead, whatever its prefetch says."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was read. `timestamp` is its append time, seconds since the epoch."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: float
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(name) + len(text) for name, text in self.headers) if self.headers else 0
        return len(self.key) + len(self.value) + headers

    @property
    def place(self) -> TopicPartition:
        """The partition it stands in."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """How a topic is to be created, or is. None keeps everything."""

    name: str
    partitions: int = 1
    retention_seconds: float | None = None
    retention_bytes: int | None = None
    """Per partition."""
    max_message_bytes: int = 32 * 2**20
    """The largest value of a message; key and headers come on top (see sizes.py)."""
    replication: int = 1
    """Copies of each partition. A message is acknowledged when all but one have it (of two: the first)."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is."""

    spec: TopicSpec
    size_bytes: int
    """What its messages take on disk, once."""
    under_replicated: int = 0
    """Partitions of which a copy is missing or behind."""


class Outgoing(NamedTuple):
    """A message to append."""

    topic: str
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]] = ()


class Producer(Protocol):
    """Appends messages."""

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> Receipt:
        """Append one message; returns when the broker has it durably.

        Waits while the unacknowledged bytes of this producer are at their bound (back-pressure).
        Concurrent sends are batched. Once this returned, no crash of any process loses the message;
        when it raised or was cancelled, the message may or may not have been appended.
        Raises MessageTooLarge at once, UnknownTopic, BrokerUnavailable after the send time-out.
        """
        ...

    async def send_all(self, messages: Sequence[Outgoing]) -> list[Receipt]:
        """Append messages in their order and wait once for all of them; cheaper than a task for each.

        Returns when all are durable. Raises what `send` would for the first that failed: then any of them
        may have been appended, but none when one was too large or its topic unknown from the beginning.
        The send time-out is for all together, so send some MB at a time.
        """
        ...


class Consumer(Protocol):
    """A member of a consumer group. Every partition of its topics has one member at a time."""

    def __aiter__(self) -> AsyncIterator[Message]:
        """Messages of this member's partitions, those of earlier topics first, never ending.

        Reading pauses by itself while `prefetch` messages are handed out or waiting, and the
        membership stays alive meanwhile, however long a message takes. Partitions added to a topic come
        in by themselves, from their first message. Raises OffsetGap when `on_gap` is "fail" and
        the message after the group's last commit is gone; a group that is new to a partition has no gap.
        """
        ...

    @property
    def skipped(self) -> int:
        """Messages that were gone when their turn came, so far (`on_gap` is "earliest")."""
        ...

    def done(self, message: Message) -> None:
        """Mark a message as dealt with, in any order.

        The broker keeps, per partition, the longest unbroken prefix of done messages: what follows it
        comes again after a crash, to whichever member has the partition then. Committed in the
        background and once more at close. For a partition that was taken away it does nothing.
        """
        ...


class Reader(Protocol):
    """Reads by position, outside any group: disturbs nobody, commits nothing."""

    def __aiter__(self) -> AsyncIterator[Message]:
        """Messages in partition order, interleaved over partitions as they arrive.

        Raises OffsetGap when `on_gap` is "fail" and the next message of a partition is gone.
        """
        ...

    @property
    def skipped(self) -> int:
        """Messages that were gone when their turn came, so far (`on_gap` is "earliest")."""
        ...


class Broker(Protocol):
    """A connection to one broker or cluster. Safe to share between tasks of one process."""

    def producer(self, *, max_inflight_bytes: int = 64 * 2**20) -> AbstractAsyncContextManager[Producer]:
        """A producer; leaving the context waits for what is in flight."""
        ...

    def consumer(
        self, topics: Sequence[str], *, group: str, prefetch: int = 64, on_gap: OnGap = "fail"
    ) -> AbstractAsyncContextManager[Consumer]:
        """Join `group` for `topics`, listed in order of preference. New groups start at the earliest message.

        At most `prefetch` messages per topic are fetched ahead or handed out and not yet done, and about
        BUFFER_BYTES of them fetched ahead. Raises UnknownTopic; see wait_for_topics.
        """
        ...

    def reader(
        self,
        start: Mapping[TopicPartition, int],
        *,
        follow: bool = True,
        prefetch: int = 64,
        on_gap: OnGap = "fail",
    ) -> AbstractAsyncContextManager[Reader]:
        """Read each partition from the given offset (or EARLIEST), for ever or up to its present end.

        Following takes in partitions that are added to the topics meanwhile, from their first message.
        An offset beyond the partition's end is a gap as well. Raises UnknownTopic for a topic or a
        partition that is not there. Reading up to the end raises BrokerUnavailable out of iteration when
        the broker gives nothing for the time it may take to answer; following waits for ever.
        """
        ...

    def claim(self, topic: str, *, group: str, holder: str) -> AbstractAsyncContextManager[None]:
        """Be the only one in `group`, which is used for nothing else, for the block; the topic must exist.

        One that was killed keeps nobody out for longer than the time after which members are taken for dead:
        so long it waits, then it raises Claimed, with the other's `holder`. Raises Claimed out of the
        block when this process hung for that time and another is there meanwhile.
        """
        ...

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """Create those that do not exist yet; existing ones stay as they are."""
        ...

    async def alter_topic(self, spec: TopicSpec) -> None:
        """Give an existing topic these partitions, retention and size; producers and consumers notice.

        Raises UnknownTopic, and BrokerError for fewer partitions than it has, which would lose messages.
        The number of copies stays as it is.
        """
        ...

    async def describe(self, topic: str) -> TopicState:
        """The topic as it is, whoever created it. Raises UnknownTopic."""
        ...

    async def topics(self) -> Mapping[str, int]:
        """Names of all topics and how many partitions each has."""
        ...

    async def bounds(self, topic: str) -> Mapping[TopicPartition, Bounds]:
        """The kept range of every partition. Raises UnknownTopic."""
        ...

    async def offsets_at(self, topic: str, timestamp: float) -> Mapping[TopicPartition, int]:
        """Per partition the first offset appended at or after `timestamp` (seconds), or its end."""
        ...

    async def lag(self, topic: str, group: str) -> int:
        """Messages of the topic that the group has not committed yet."""
        ...
