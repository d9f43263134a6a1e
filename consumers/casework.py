"""What is decided about a collapsed group, and the records that come of it. No I/O."""

from enum import Enum

from msgspec.structs import replace

import schemas
from consumers.guides.base import Lesson
from schemas import Diagnosis, Group, Hint, Origin, Outcome, Query

MAX_ERROR = 200
"""Characters kept of an error and of the reason in a diagnosis that has to be short."""


class Action(Enum):
    """What becomes of a case."""

    TEACH = "teach"
    STALE = "stale"
    EXHAUSTED = "exhausted"
    SUPERSEDED = "superseded"
    SHED = "shed"


def decide(group: Group, *, version: int, max_case_age: int | None, max_rounds: int) -> Action:
    """What to do with a collapsed group while `version` is the newest policy.

    A question that collapsed again after `max_rounds` lessons is given up; one whose policy is more than
    `max_case_age` versions old is skipped, since its mistakes are not today's (None keeps all).
    """
    if guidance_round(group.query) > max_rounds:
        return Action.EXHAUSTED
    if max_case_age is not None and version - group.oldest_version > max_case_age:
        return Action.STALE
    return Action.TEACH


def guidance_round(query: Query) -> int:
    """Which lesson on its question would come next, from 1."""
    return query.hint.round + 1 if query.hint else 1


def earlier_hints(query: Query) -> tuple[str, ...]:
    """The hints that the question was already asked with, oldest first."""
    return (*query.hint.earlier, query.hint.text) if query.hint else ()


def guided_query(group: Group, guide: str, text: str) -> Query:
    """The group's question with a hint before it; its id depends on case and guide, not on the text."""
    asked, next_round = group.query, guidance_round(group.query)
    hint = Hint(
        hint_id=schemas.hint_id(guide, text),
        text=text,
        guide=guide,
        round=next_round,
        group_id=group.group_id,
        earlier=earlier_hints(asked),
    )
    return Query(
        query_id=schemas.guided_query_id(group.group_id, guide, next_round),
        origin=Origin.GUIDED,
        position=asked.position,
        attempt=next_round,
        question=asked.question,
        reference=asked.reference,
        solution=asked.solution,
        hint=hint,
        extra=asked.extra,
    )


def diagnosis(group: Group, guide: str, lesson: Lesson, guided: Query | None, seconds: float) -> Diagnosis:
    """The history of a case, however it ended."""
    return Diagnosis(
        group_id=group.group_id,
        query_id=group.query.query_id,
        guide=guide,
        round=guidance_round(group.query),
        outcome=lesson.outcome,
        reason=lesson.reason,
        hint=guided.hint if guided else None,
        guided_query_id=guided.query_id if guided else None,
        calls=lesson.calls,
        prompt_tokens=sum(call.prompt_tokens for call in lesson.calls),
        completion_tokens=sum(call.completion_tokens for call in lesson.calls),
        cost=sum(call.cost for call in lesson.calls),
        seconds=seconds,
        policy_version=group.oldest_version,
    )


def shortened(record: Diagnosis) -> Diagnosis:
    """A diagnosis without what its calls said, for a topic that does not take all of it."""
    calls = tuple(
        replace(call, result="", error=call.error and call.error[:MAX_ERROR]) for call in record.calls
    )
    return replace(record, calls=calls, reason=record.reason[:MAX_ERROR])


def untaught(group: Group, action: Action, version: int) -> Lesson:
    """What is recorded of a case that no guide sees, for any action but to teach."""
    lessons = guidance_round(group.query) - 1
    reasons = {
        Action.STALE: f"sampled by policy {group.oldest_version}, the newest is {version}",
        Action.EXHAUSTED: f"collapsed again after {lessons} lesson{'s' * (lessons != 1)}",
        Action.SUPERSEDED: "a newer case of this question came before its turn",
        Action.SHED: "more cases waited than mentor.max_backlog allows, and this was the oldest",
    }
    return Lesson(Outcome(action.value), reasons[action])
