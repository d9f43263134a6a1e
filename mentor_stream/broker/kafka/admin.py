"""Questions to the cluster about offsets and groups, and what topics.py does to topics."""

import math
from collections.abc import Callable, Sequence
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import anyio
from kafka import errors
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream.broker.base import (
    Bounds,
    BrokerError,
    BrokerUnavailable,
    TopicPartition,
    TopicSpec,
    TopicState,
    UnknownTopic,
)
from mentor_stream.broker.kafka import topics
from mentor_stream.broker.kafka.client import Client
from mentor_stream.broker.kafka.topics import RawAdmin

P = ParamSpec("P")
T = TypeVar("T")

RETRY_SECONDS = 0.2
NEW_TOPIC_SECONDS = 0.5
"""A topic just created may not have reached every broker: so long nobody calls it unknown."""

_FIRST, _END = -2, -1
"""Where a partition begins and ends, in the protocol's terms."""


class _Limit(NamedTuple):
    """What a topic's messages may measure, as answered at a time; None for a topic that is not there."""

    at: float
    limit: int | None
    problem: str = ""


class Admin:
    """Answers from the cluster. A question is put again until it is answered or connect_timeout is over."""

    def __init__(self, client: Client[RawAdmin]) -> None:
        self._client = client
        self._limits: dict[str, _Limit] = {}
        self._asking = anyio.Lock()

    async def create_topics(self, specs: Sequence[TopicSpec]) -> None:
        """Create those that do not exist and wait until they can be used. Raises BrokerError."""
        if specs:
            await self._ask(
                f"create the topics {', '.join(spec.name for spec in specs)}", topics.create, specs
            )

    async def alter_topic(self, spec: TopicSpec) -> None:
        """Alter it and wait until it is altered. Raises UnknownTopic, BrokerError for fewer partitions."""
        await self._ask(f"alter topic {spec.name}", topics.alter, spec)
        self.forget_limit(spec.name)
        await self._ask(f"alter topic {spec.name} everywhere", topics.await_altered, spec)

    async def describe(self, topic: str) -> TopicState:
        """The topic as it is. Raises UnknownTopic."""
        return await self._ask(f"describe topic {topic}", topics.describe, topic)

    async def topics(self) -> dict[str, int]:
        """Partition counts of all topics but Kafka's own."""
        return await self._ask("list its topics", _topics)

    async def bounds(self, topic: str) -> dict[TopicPartition, Bounds]:
        """Kept range per partition. Raises UnknownTopic."""
        return await self._ask(f"say what topic {topic} keeps", _bounds, topic)

    async def offsets_at(self, topic: str, timestamp: float) -> dict[TopicPartition, int]:
        """First offset at or after the timestamp (seconds), or the end. Raises UnknownTopic."""
        return await self._ask(f"find a time in topic {topic}", _offsets_at, topic, timestamp)

    async def lag(self, topic: str, group: str) -> int:
        """Kept messages that the group has not committed. Raises UnknownTopic."""
        return await self._ask(f"say how far group {group} is", _lag, topic, group)

    async def members(self, group: str) -> dict[str, str]:
        """What the group's members, by their ids, call themselves."""
        return await self._ask(f"say who is in group {group}", _members, group)

    def known_limit(self, topic: str) -> int | None:
        """Bytes that a value of the topic may have, when it was last asked; None if never."""
        answer = self._limits.get(topic)
        return answer.limit if answer else None

    async def message_limit(self, topic: str) -> int:
        """The same now. Who asks at the same time shares the answer. Raises UnknownTopic."""
        began = anyio.current_time()
        async with self._asking:
            answer = self._limits.get(topic)
            if answer is None or answer.at < began:
                answer = self._limits[topic] = await self._ask_limit(topic)
        if answer.limit is None:
            raise UnknownTopic(answer.problem)
        return answer.limit

    def forget_limit(self, topic: str) -> None:
        """What was known is known to be wrong."""
        self._limits.pop(topic, None)

    async def _ask_limit(self, topic: str) -> _Limit:
        try:
            limit = await self._ask(
                f"say how large a message of topic {topic} may be", topics.message_limit, topic
            )
        except UnknownTopic as error:
            return _Limit(anyio.current_time(), None, str(error))
        return _Limit(anyio.current_time(), limit)

    async def _ask(
        self,
        doing: str,
        question: Callable[Concatenate[RawAdmin, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The cluster's answer; `doing` is what it did not do, should there be none."""
        started, patience = anyio.current_time(), self._client.settings.connect_timeout
        while True:
            try:
                return await self._client.attempt(question, *args, **kwargs)
            except errors.KafkaError as error:
                failed = f"it did not {doing} within {patience:g} s (connect_timeout)"
                meant = self._client.explained(error, failed)
                if anyio.current_time() - started > _worth_asking_again(meant, patience):
                    raise meant from error
            await anyio.sleep(RETRY_SECONDS)


def _worth_asking_again(error: BrokerError, patience: float) -> float:
    """For how many seconds a question is put again that ends like this."""
    if isinstance(error, UnknownTopic):
        return NEW_TOPIC_SECONDS
    return patience if isinstance(error, BrokerUnavailable) else -1


def _topics(admin: RawAdmin) -> dict[str, int]:
    found = (topic for topic in admin.describe_topics() if not topic["is_internal"])
    return {topic["name"]: len(topic["partitions"]) for topic in found}


def _partitions(admin: RawAdmin, topic: str) -> list[KafkaPartition]:
    found = topics.found(admin, topic)["partitions"]
    return [KafkaPartition(topic, partition["partition_index"]) for partition in found]


def _offsets(admin: RawAdmin, places: Sequence[KafkaPartition], which: int) -> dict[KafkaPartition, int]:
    found = admin.list_partition_offsets(dict.fromkeys(places, which))
    return {place: answer.offset for place, answer in found.items()}


def _bounds(admin: RawAdmin, topic: str) -> dict[TopicPartition, Bounds]:
    places = _partitions(admin, topic)
    first = _offsets(admin, places, _FIRST)
    following = _offsets(admin, places, _END)
    return {TopicPartition(*place): Bounds(first[place], following[place]) for place in places}


def _offsets_at(admin: RawAdmin, topic: str, timestamp: float) -> dict[TopicPartition, int]:
    places = _partitions(admin, topic)
    # the end is asked for first: what arrives in between must not be skipped
    ends = _offsets(admin, places, _END)
    found = _offsets(admin, places, max(0, math.ceil(timestamp * 1000)))
    return {TopicPartition(*place): found[place] if found[place] >= 0 else ends[place] for place in places}


def _lag(admin: RawAdmin, topic: str, group: str) -> int:
    bounds = _bounds(admin, topic)
    places = [KafkaPartition(*place) for place in bounds]
    committed = admin.list_group_offsets({group: places})[group]
    # an offset of -1 says that nothing was committed
    return sum(b.next - max(b.first, committed[KafkaPartition(*place)].offset) for place, b in bounds.items())


def _members(admin: RawAdmin, group: str) -> dict[str, str]:
    found = admin.describe_groups([group])[group]
    if (error := found["error"]) and "GroupIdNotFound" not in error:
        refused, passes = errors.GroupAuthorizationFailedError, errors.CoordinatorNotAvailableError
        raise (refused if "Authorization" in error else passes)(group)
    return {member["member_id"]: member["client_id"] for member in found["members"]}
