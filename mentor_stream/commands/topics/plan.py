"""What it takes to make a run's topics what its config says. Pure: nothing here asks or changes a broker."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from mentor_stream.broker.base import TopicSpec
from mentor_stream.topics import Topic

Value = int | float | str
Action = Literal["create", "alter", "keep", "refuse"]

RETENTION_TOLERANCE_HOURS = 1e-6
"""Kafka keeps whole milliseconds: what differs by less than a few of them is the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that is not as configured; name and values as in the config."""

    setting: str
    actual: Value
    wanted: Value

    @property
    def alterable(self) -> bool:
        """Whether a broker can change it by itself."""
        return self.setting != "replication"


@dataclass(frozen=True, slots=True)
class Change:
    """One topic as it is and as it is to be."""

    topic: Topic[Any]
    wanted: TopicSpec
    actual: TopicSpec | None
    """None: it does not exist."""

    @property
    def name(self) -> str:
        """The topic's name on the broker."""
        return self.wanted.name

    @property
    def action(self) -> Action:
        """What to do about it. Applying "alter" leaves a difference in replication as it is."""
        if self.actual is None:
            return "create"
        if self.refusal:
            return "refuse"
        return "alter" if any(difference.alterable for difference in self.differences) else "keep"

    @property
    def differences(self) -> list[Difference]:
        """All that is not as configured; nothing for a topic that does not exist."""
        if self.actual is None:
            return []
        actual, wanted = terms(self.actual), terms(self.wanted)
        return [
            Difference(setting, actual[setting], wanted[setting])
            for setting in wanted
            if not _same(actual[setting], wanted[setting])
        ]

    def altered(self, *, applied: bool) -> list[Difference]:
        """Differences that are none any more, once the change was `applied`."""
        return [d for d in self.differences if applied and d.alterable]

    def left(self, *, applied: bool) -> list[Difference]:
        """Differences that there are still."""
        return [d for d in self.differences if not (applied and d.alterable)]

    @property
    def refusal(self) -> str | None:
        """Why the topic can never become what the config says, and the way out."""
        if self.actual is None or self.actual.partitions <= self.wanted.partitions:
            return None
        has, table = self.actual.partitions, self.topic.table
        if self.topic.ordered:
            return (
                f"{self.name} has {has} partitions, but its readers need 1, and partitions cannot be taken "
                "away: let run.name be another one, or delete the topic while nothing of the run is at work"
            )
        return (
            f"{self.name} has {has} partitions, {self.wanted.partitions} are configured: taking partitions "
            f"away would lose their records. Set topics.partitions or topics.{table}.partitions to {has} or "
            "more, or another run.name"
        )

    @property
    def warnings(self) -> list[str]:
        """What the operator should know of the change, or has to do alone."""
        return [warning for d in self.differences if (warning := _warning(d))]


def terms(spec: TopicSpec) -> dict[str, Value]:
    """A topic's settings as the config spells them."""
    seconds, size = spec.retention_seconds, spec.retention_bytes
    return {
        "partitions": spec.partitions,
        "replication": spec.replication,
        "retention_hours": "forever" if seconds is None else seconds / 3600,
        "retention_bytes": "unlimited" if size is None else size,
        "max_record_bytes": spec.max_message_bytes,
    }


def _same(actual: Value, wanted: Value) -> bool:
    if isinstance(actual, float) and isinstance(wanted, float):
        return math.isclose(actual, wanted, abs_tol=RETENTION_TOLERANCE_HOURS)
    return actual == wanted


def _warning(difference: Difference) -> str | None:
    before, after = _limit(difference.actual), _limit(difference.wanted)
    match difference.setting:
        case "partitions" if after > before:
            return (
                "keys move when partitions are added, so that new records of a key may stand in another "
                "partition than its earlier ones; components of this system do not mind"
            )
        case "retention_hours" if after < before:
            return f"records older than {after:g} h are deleted, read or not"
        case "retention_bytes" if after < before:
            return f"above {after:,.0f} bytes a partition's oldest are deleted, read or not"
        case "replication":
            return "only Kafka's own kafka-reassign-partitions.sh makes or removes copies"
        case _:
            return None


def _limit(value: Value) -> float:
    return math.inf if isinstance(value, str) else value
