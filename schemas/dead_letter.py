"""A record nobody could read, kept with its bytes so that nothing is skipped silently."""

from schemas.record import Count, Record


class DeadLetter(Record, frozen=True, kw_only=True):
    """Where an unreadable record stood, why it was refused, and what it was."""

    source: str
    """The component that refused it."""
    topic: str
    partition: Count
    offset: Count
    error: str
    key: bytes
    value: bytes
    whole: bool = True
    """False when `key` or `value` was cut to fit the size limit of the topic."""
    time: float
