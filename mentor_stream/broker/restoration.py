"""Messages put back at the places and times they once had: what archives need beside the contract.

Only an engine whose log is ours to write can do it (sqlite/); a cluster gives offsets and times itself.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mentor_stream.broker.base import Message, TopicPartition, TopicSpec


class Restoration(Protocol):
    """Topics in the making. Nobody sees them before `publish`; without it they are taken away again."""

    async def begin(self, spec: TopicSpec) -> None:
        """Make a topic. Raises BrokerError when there is one of this name."""
        ...

    async def append(self, topic: str, messages: Sequence[Message]) -> None:
        """Put these messages into the topic, whatever theirs is called, at their offsets and times.

        Within a partition offsets rise, perhaps with holes, and times do not fall.
        """
        ...

    async def publish(self, ends: Mapping[TopicPartition, int]) -> None:
        """Let all topics appear at once, durably; `ends` are the offsets that their next messages get.

        Raises BrokerError when a topic of such a name has come meanwhile.
        """
        ...
