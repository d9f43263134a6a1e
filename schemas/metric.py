"""What a component measured at one moment."""

from schemas.record import Count, Record


class Metric(Record, frozen=True, kw_only=True):
    """Named values of one component, taken together."""

    component: str
    instance: str
    """Which process of the component: host and process id."""
    time: float
    """Seconds since the epoch."""
    policy_version: Count | None = None
    values: dict[str, float]
