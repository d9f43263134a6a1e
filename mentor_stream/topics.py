"""The topics of a run: which record each carries and under which key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import schemas
from mentor_stream.broker.base import TopicSpec

R = TypeVar("R", bound=schemas.Record)

MAX_RECORD_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Topic(Generic[R]):
    """One arrow of the flow. On the broker it is called `<run>.<name>`."""

    name: str
    record: type[R]
    key: Callable[[R], str]
    partitions: int = 4
    retention_seconds: float | None = None

    def spec(self, run: str) -> TopicSpec:
        """How the topic is created for `run`."""
        return TopicSpec(
            name=f"{run}.{self.name}",
            partitions=self.partitions,
            retention_seconds=self.retention_seconds,
            max_message_bytes=MAX_RECORD_BYTES,
        )


QUERIES = Topic("queries", schemas.Query, lambda r: r.query_id)
GUIDED = Topic("guided", schemas.Query, lambda r: r.query_id)
GROUPS = Topic("groups", schemas.Group, lambda r: r.group_id)
COLLAPSED = Topic("collapsed", schemas.Group, lambda r: r.group_id)
DIAGNOSES = Topic("diagnoses", schemas.Diagnosis, lambda r: r.group_id)
POLICIES = Topic("policies", schemas.PolicyRelease, lambda r: str(r.policy_version), partitions=1)
METRICS = Topic("metrics", schemas.Metric, lambda r: r.component, partitions=1)
DEAD_LETTERS = Topic("dead-letters", schemas.DeadLetter, lambda r: r.source, partitions=1)

ALL: tuple[Topic, ...] = (  # type: ignore[type-arg]
    QUERIES, GUIDED, GROUPS, COLLAPSED, DIAGNOSES, POLICIES, METRICS, DEAD_LETTERS,
)  # fmt: skip
