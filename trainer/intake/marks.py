"""What was read last from each partition: by these records a checkpoint knows its data again.

Their bytes tell a stream from one made anew or fed from another dataset: a group's id comes from the run and
the content of its dataset (schemas/identity.py), and no two samplings of it are alike.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from mentor_stream.broker import Message, Receipt, TopicPartition


class Mark(NamedTuple):
    """A record, where it stands and the SHA-256 of its bytes."""

    place: Receipt
    digest: str


class Marks:
    """The last record of each partition, as they are read in their order."""

    def __init__(self, kept: Iterable[Mark] = ()) -> None:
        self._last = {TopicPartition(m.place.topic, m.place.partition): m for m in kept}

    def note(self, message: Message) -> None:
        """This one was read."""
        self._last[message.place] = mark_of(message)

    def kept(self) -> tuple[Mark, ...]:
        """For a checkpoint to hold."""
        return tuple(mark for _, mark in sorted(self._last.items()))


def mark_of(message: Message) -> Mark:
    """By which a message is known again."""
    place = Receipt(message.topic, message.partition, message.offset)
    return Mark(place, sha256(message.value).hexdigest())
