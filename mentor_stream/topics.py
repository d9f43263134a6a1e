"""The topics of a run: which record each carries, under which key, and how it is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

import schemas
from mentor_stream.broker.base import OnGap, TopicSpec
from mentor_stream.config import ConfigError, Section

R = TypeVar("R", bound=schemas.Record)

LARGEST_RECORD_BYTES = 60 * 2**20
"""No topic takes more: Kafka brokers refuse requests of 100 MB, and a record travels in one."""
MOST_PARTITIONS = 500
"""Of a topic. Five topics of a run have so many and are made with one request, which Kafka refuses for
10,000; a node with more than 4,000 is slow."""


def _or_else(expected: str) -> WrapValidator:
    """One problem in our words instead of one for each alternative."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            raise ValueError(f"expected {expected}") from error

    return WrapValidator(validate)


Partitions = Annotated[
    Annotated[int, Field(ge=1, le=MOST_PARTITIONS)],
    _or_else(
        f"1 to {MOST_PARTITIONS}: five topics get so many each, and a Kafka node carries a few thousand"
    ),
]
Replication = Annotated[int, Field(ge=1, le=100)]
RetentionHours = Annotated[
    Annotated[float, Field(ge=0.001, le=1e7)] | Literal["forever"],
    _or_else('hours from 0.001 to 10000000, or "forever"'),
]
RetentionBytes = Annotated[
    Annotated[int, Field(ge=2**20, le=2**60)] | Literal["unlimited"],
    _or_else('bytes from 1048576 (1 MiB) to 2**60, or "unlimited"'),
]
RecordBytes = Annotated[int, Field(ge=2**16, le=LARGEST_RECORD_BYTES)]


@dataclass(frozen=True)
class Topic(Generic[R]):
    """One arrow of the flow. On the broker it is called `<run>.<name>`."""

    name: str
    record: type[R]
    key: Callable[[R], str]
    ordered: bool = False
    """Its readers rely on one order of all records: it has one partition."""
    kept: bool = False
    """A component that starts reads its newest record: it is kept for ever."""
    group: str | None = None
    """The component group that works it off, where there is one."""

    @property
    def table(self) -> str:
        """Its table in the config, below [topics]."""
        return self.name.replace("-", "_")

    def of(self, run: str) -> str:
        """Its name on the broker."""
        return f"{run}.{self.name}"

    def group_of(self, run: str) -> str:
        """The name on the broker of its group, where it has one."""
        assert self.group is not None, f"no group works {self.name} off"
        return f"{run}.{self.group}"


class TopicSettings(Section):
    """One topic, where it differs from [topics]."""

    partitions: Partitions | None = None
    replication: Replication | None = None
    retention_hours: RetentionHours | None = None
    retention_bytes: RetentionBytes | None = None
    max_record_bytes: RecordBytes | None = None


_AS_THE_OTHERS = TopicSettings()


class TopicsConfig(Section):
    """How the run's topics are made and read; `[topics.groups]` and so on set one topic apart."""

    table: ClassVar[str] = "topics"

    create: bool = True
    """Whether components create what is missing. If not, they wait for `mentor-stream topics create`."""
    on_gap: OnGap = "fail"
    """What a component does whose next records retention has taken: `fail` stops it, `earliest` goes on with
    the first one kept and counts what is missing (metric `records_skipped`)."""
    partitions: Partitions = 4
    """No more members of a group than this work at once; topics that need one order have one."""
    replication: Replication = 1
    """Copies of each topic on a Kafka cluster; 3 survives the loss of a node without a pause."""
    retention_hours: RetentionHours = "forever"
    retention_bytes: RetentionBytes = "unlimited"
    """Per partition."""
    max_record_bytes: RecordBytes = 32 * 2**20

    queries: TopicSettings = _AS_THE_OTHERS
    guided: TopicSettings = _AS_THE_OTHERS
    groups: TopicSettings = _AS_THE_OTHERS
    collapsed: TopicSettings = _AS_THE_OTHERS
    diagnoses: TopicSettings = _AS_THE_OTHERS
    policies: TopicSettings = _AS_THE_OTHERS
    metrics: TopicSettings = _AS_THE_OTHERS
    dead_letters: TopicSettings = _AS_THE_OTHERS

    @model_validator(mode="after")
    def _fits_the_topics(self) -> "TopicsConfig":
        for topic in ALL:
            own = self._own(topic)
            if topic.ordered and own.partitions not in (None, 1):
                raise ValueError(f"{topic.table}.partitions is {own.partitions}: its readers need one; use 1")
            forgets = {own.retention_hours, own.retention_bytes} - {None, "forever", "unlimited"}
            if topic.kept and forgets:
                raise ValueError(
                    f"{topic.table} has a retention: a component that starts needs its newest; take it out"
                )
        return self

    def spec(self, topic: Topic[R], run: str) -> TopicSpec:
        """How the topic is made for `run`."""
        own = self._own(topic)
        hours = own.retention_hours or self.retention_hours
        size = own.retention_bytes or self.retention_bytes
        return TopicSpec(
            name=topic.of(run),
            partitions=1 if topic.ordered else own.partitions or self.partitions,
            retention_seconds=None if topic.kept or hours == "forever" else hours * 3600,
            retention_bytes=None if topic.kept or size == "unlimited" else size,
            max_message_bytes=self.max_bytes(topic),
            replication=own.replication or self.replication,
        )

    def specs(self, run: str) -> list[TopicSpec]:
        """All topics of `run`."""
        return [self.spec(topic, run) for topic in ALL]

    def max_bytes(self, topic: Topic[R]) -> int:
        """The largest record of the topic."""
        return self._own(topic).max_record_bytes or self.max_record_bytes

    def _own(self, topic: Topic[R]) -> TopicSettings:
        return getattr(self, topic.table, _AS_THE_OTHERS)


QUERIES = Topic("queries", schemas.Query, lambda r: r.query_id, group="rollout")
GUIDED = Topic("guided", schemas.Query, lambda r: r.query_id, group="rollout")
GROUPS = Topic("groups", schemas.Group, lambda r: r.group_id)
COLLAPSED = Topic("collapsed", schemas.Group, lambda r: r.group_id, group="mentor")
DIAGNOSES = Topic("diagnoses", schemas.Diagnosis, lambda r: r.group_id)
POLICIES = Topic("policies", schemas.PolicyRelease, lambda r: str(r.policy_version), ordered=True, kept=True)
METRICS = Topic("metrics", schemas.Metric, lambda r: r.component, ordered=True)
DEAD_LETTERS = Topic("dead-letters", schemas.DeadLetter, lambda r: r.source, ordered=True)

ALL: tuple[Topic[Any], ...] = (
    QUERIES, GUIDED, GROUPS, COLLAPSED, DIAGNOSES, POLICIES, METRICS, DEAD_LETTERS,
)  # fmt: skip


def parse(name: str) -> tuple[str, Topic[Any]] | None:
    """The run and the topic that a topic of the broker is, or None for one of no run."""
    run, _, short = name.rpartition(".")
    topic = next((topic for topic in ALL if topic.name == short), None)
    return (run, topic) if run and topic else None


def find(name: str, run: str) -> Topic[Any]:
    """The topic of this name, with or without the run before it. Raises ConfigError."""
    for topic in ALL:
        if name in (topic.name, topic.of(run)):
            return topic
    known = ", ".join(topic.name for topic in ALL)
    raise ConfigError(f"there is no topic {name!r} in run {run!r}: known are {known}")
