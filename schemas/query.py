"""One question on its way to the rollout workers, plain or with a hint before it."""

from enum import Enum

import msgspec

from schemas.record import Count, Part, Record


class Origin(Enum):
    """Who put a query on the stream."""

    PLAIN = "plain"
    GUIDED = "guided"


class Hint(Part, frozen=True, kw_only=True):
    """A validated hint and where it came from."""

    hint_id: str
    text: str
    guide: str
    """Name of the mentor policy that wrote it."""
    round: Count
    """1 for the first lesson on a question; more where a guided query collapsed again."""
    group_id: str
    """The collapsed group that the hint answers."""
    earlier: tuple[str, ...] = ()
    """Texts of the hints of the rounds before."""


class Query(Record, frozen=True, kw_only=True):
    """One question with its verifier's reference. `hint` is there exactly when `origin` is guided."""

    query_id: str
    origin: Origin
    position: Count
    """Place in the feeder's order, from 0 over all epochs; a guided query keeps its plain query's."""
    attempt: Count
    """The epoch of a plain query; the round of a guided one."""
    question: str
    reference: str
    """What the verifier compares with: an answer, or the tests as JSON."""
    solution: str | None = None
    """A worked solution, for the mentor's eyes only."""
    hint: Hint | None = None
    extra: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Further columns of the dataset, for custom rewards and guides."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.origin is Origin.GUIDED) != (self.hint is not None):
            raise ValueError(f"a {self.origin.value} query with{'out' * (self.hint is None)} a hint")
