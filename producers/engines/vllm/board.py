"""What the tasks of one engine tell each other: which weights are wanted, and that something changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mentor_stream.releases import News


@dataclass(frozen=True, slots=True)
class Weights:
    """A snapshot to be served, and the label that its tokens will carry."""

    source: Mapping[str, str]
    """Where servers find it, as transfer.Update has it: `path`, or `uri` and `digest`, or `sender`, `digest`
    and `backend`."""
    version: int
    label: str
    stop_ids: Sequence[int]


@dataclass
class Board:
    """One engine's."""

    wanted: Weights | None = None
    """What servers should be on: those that are not are asked for nothing."""
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The policy version of each label that we gave."""
    orders: News = field(default_factory=News)
    """Told when other weights are wanted, or a server got into trouble."""
    room: News = field(default_factory=News)
    """Told when a server may have become able to take a request, or unable to ever load what is wanted."""

    def want(self, weights: Weights | None) -> None:
        """Have every server load these."""
        self.wanted = weights
        if weights:
            self.versions[weights.label] = weights.version
        self.orders.tell()
        self.room.tell()
