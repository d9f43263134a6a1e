"""A message as a data scientist asks for it: what its record says, in columns. No I/O."""

from typing import NamedTuple

import schemas
from mentor_stream.topics import LARGEST_RECORD_BYTES, Topic
from schemas import Diagnosis, Group, PolicyRelease, Query, Record


class Columns(NamedTuple):
    """None where the record has nothing of the kind."""

    record: str | None = None
    """The record's schema; None where it cannot be read, and `error` says why."""
    error: str | None = None
    query_id: str | None = None
    group_id: str | None = None
    origin: str | None = None
    question: str | None = None
    hint: str | None = None
    guide: str | None = None
    outcome: str | None = None
    """Of a diagnosis."""
    policy_version: int | None = None
    """Of a group that of its oldest token."""
    verdicts: list[str] | None = None
    """A trajectory each, and so the next two."""
    rewards: list[float | None] | None = None
    lengths: list[int] | None = None
    """Tokens of each completion."""


def columns(topic: Topic[Record], value: bytes) -> Columns:
    """What a message of the topic says."""
    try:
        record = schemas.decode(value, topic.record, max_bytes=LARGEST_RECORD_BYTES)
    except schemas.RecordError as error:
        return Columns(error=f"{type(error).__name__}: {error}")
    name = str(topic.record.__struct_config__.tag)
    match record:
        case Query() as query:
            return _of_query(name, query)
        case Group() as group:
            return _of_group(name, group)
        case Diagnosis() as diagnosis:
            return Columns(
                name,
                query_id=diagnosis.query_id,
                group_id=diagnosis.group_id,
                hint=diagnosis.hint.text if diagnosis.hint else None,
                guide=diagnosis.guide,
                outcome=diagnosis.outcome.value,
                policy_version=diagnosis.policy_version,
            )
        case PolicyRelease() as release:
            return Columns(name, policy_version=release.policy_version)
        case _:
            return Columns(name, policy_version=getattr(record, "policy_version", None))


def _of_query(name: str, query: Query) -> Columns:
    hint = query.hint
    return Columns(
        name,
        query_id=query.query_id,
        origin=query.origin.value,
        question=query.question,
        hint=hint.text if hint else None,
        guide=hint.guide if hint else None,
    )


def _of_group(name: str, group: Group) -> Columns:
    trajectories = group.trajectories
    return _of_query(name, group.query)._replace(
        group_id=group.group_id,
        policy_version=group.oldest_version if any(t.policy for t in trajectories) else None,
        verdicts=[t.verdict.value for t in trajectories],
        rewards=[t.reward for t in trajectories],
        lengths=[len(t.completion_ids) for t in trajectories],
    )
