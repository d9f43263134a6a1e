"""Where the next message of a partition is gone: which of two accidents it is, and what to say."""

from typing import NamedTuple

from mentor_stream.broker.base import Bounds, TopicPartition


class Gap(NamedTuple):
    """A position at which a partition keeps nothing: before the first message, or beyond the end."""

    place: TopicPartition
    position: int
    kept: Bounds

    @property
    def foreign(self) -> bool:
        """Whether nothing was ever there: the position is of another topic of this name.

        What is kept may have grown past the position since.
        """
        return self.position >= self.kept.first

    def missing(self, end: int) -> int:
        """Messages before `end` that are gone, as far as anyone can know."""
        return max(0, min(self.kept.first, end) - self.position)

    @property
    def error(self) -> str:
        """What happened, and the way out."""
        if self.foreign:
            return f"{self}. Go back to that stream; or {_EARLIEST} begins with what is kept"
        return (
            f"{self}. Raise the topic's retention to cover how far its readers may fall behind; or "
            f"{_EARLIEST} goes on with what is kept and counts what is missing"
        )

    def __str__(self) -> str:
        (topic, partition), (first, following) = self.place, self.kept
        kept = f"{first} to {following - 1} are kept" if following > first else f"none before {first} is kept"
        cause = "the position is of another stream of this name" if self.foreign else "retention was faster"
        return f"topic {topic}, partition {partition}: message {self.position} is due, but {kept}: {cause}"


_EARLIEST = 'topics.on_gap = "earliest"'
