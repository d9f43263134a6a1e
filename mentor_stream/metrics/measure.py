"""What a metric is: its name, its unit, what it means, and what to do when it moves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

EVERY = "every component"
COMMON_LABELS = ("run", "component")
"""That every series has. Which process it is of Prometheus says itself: `instance`."""

Labels = tuple[str, ...]
"""Values of a measure's own labels, in their order."""


class Kind(Enum):
    """Of Prometheus."""

    COUNTER = "counter"
    """Only grows while its process lives."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One metric of one component, or of every one."""

    name: str
    """As Prometheus knows it: in base units, `_total` behind a counter."""
    kind: Kind = Kind.GAUGE
    unit: str
    means: str
    normal: str
    """What it is in a run that goes well."""
    act: str
    """What to do when it is not."""
    component: str = EVERY
    labels: tuple[str, ...] = ()
    """Names of labels beside COMMON_LABELS."""
    keys: Mapping[str, Labels] = field(default_factory=dict[str, Labels])
    """The values of the component's Metric records that feed it, and which labels each of them has."""
    increments: bool = False
    """A counter of whose records each holds what came on top, not the whole."""
    begins: tuple[Labels, ...] = ()
    """Series of a counter that stand at zero from the start, so that their first step shows; by default those
    of `keys`."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, rising; one without a bound comes on top."""

    @property
    def series(self) -> tuple[str, ...]:
        """The names under which its values are exposed."""
        if self.kind is Kind.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)

    def is_of(self, component: str) -> bool:
        """Whether processes of this component have it."""
        return self.component in (EVERY, component)
