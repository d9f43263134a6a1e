"""What the monitor tells browsers and programs, as JSON knows it. Texts are cut: records may be megabytes."""

from collections.abc import Iterable
from dataclasses import asdict
from math import isfinite
from typing import Any

from consumers.following import Event
from consumers.monitor.curve import Point
from consumers.monitor.index import question_key
from consumers.monitor.score import Score, score_of
from consumers.tail import views
from schemas import AgentCall, Diagnosis, Group, Query, Trajectory

Document = dict[str, Any]

SHORT, LONG = 1_000, 6_000
"""Characters of a text in a list, and where it is looked at by itself."""
ANSWERS, CALLS = 64, 64
"""Told of one group and of one case."""


def points(curve: Iterable[Point]) -> list[list[float | int | None]]:
    """Each as [time, value, low, high, version]."""
    return [[round(p.time, 2), _short(p.value), _short(p.low), _short(p.high), p.version] for p in curve]


def hint(
    query: Query, time: float, diagnosis: Diagnosis | None, score_: Score | None, *, sought: bool = False
) -> Document:
    """A lesson, the case it is of, and its score once there is one.

    `diagnosed` says whether the diagnosis was found, null where it was not `sought`.
    """
    assert query.hint is not None, "a guided query has one"
    return {
        "id": query.query_id,
        "question_key": question_key(query),
        "time": time,
        "question": cut(query.question, SHORT),
        "hint": cut(query.hint.text, SHORT),
        "guide": cut(query.hint.guide, 100),
        "round": query.hint.round,
        **case(diagnosis, sought=sought),
        "score": score(score_),
    }


def case(diagnosis: Diagnosis | None, *, sought: bool) -> Document:
    """What a hint tells of its case."""
    return {
        "diagnosed": diagnosis is not None if sought else None,
        "causes": [cut(text, SHORT) for text in views.causes(diagnosis)] if diagnosis else [],
    }


def question(query: Query, time: float, score_: Score | None) -> Document:
    """A question without a hint, as it was asked or answered then."""
    key = question_key(query)
    return {
        "id": key,
        "question_key": key,
        "time": time,
        "question": cut(query.question, SHORT),
        "hint": None,
        "guide": None,
        "round": None,
        **case(None, sought=False),
        "score": score(score_),
    }


def score(of: Score | None) -> Document | None:
    """Right, judged and all answers."""
    return asdict(of) if of else None


def happening(event: Event) -> Document | None:
    """One record of a question's history; None for what is none."""
    match event.record:
        case Group() as group:
            return _group(group, event)
        case Diagnosis() as diagnosis:
            return _diagnosis(diagnosis, event.time)
        case Query(hint=hint_) as query if hint_ is not None:
            return {
                "kind": "hint",
                "id": query.query_id,
                "time": event.time,
                "text": cut(hint_.text),
                "guide": cut(hint_.guide, 100),
                "round": hint_.round,
            }
        case _:
            return None


def _group(group: Group, event: Event) -> Document:
    hint_ = group.query.hint
    return {
        "kind": "group",
        "id": group.group_id,
        "time": event.time,
        "collapsed": event.topic.name == "collapsed",
        "attempt": group.query.attempt,
        "hint": cut(hint_.text) if hint_ else None,
        "round": hint_.round if hint_ else None,
        "versions": _versions(group.trajectories),
        "tokens": group.completion_tokens,
        "score": score(score_of(group)),
        "answers": [_answer(one) for one in group.trajectories[:ANSWERS]],
    }


def _answer(one: Trajectory) -> Document:
    return {
        "verdict": one.verdict.value,
        "reward": one.reward,
        "text": cut(one.text),
        "remark": cut(one.remark, SHORT),
        "tokens": len(one.completion_ids),
        "finish": one.finish_reason.value,
    }


def _diagnosis(diagnosis: Diagnosis, time: float) -> Document:
    return {
        "kind": "diagnosis",
        "id": f"{diagnosis.group_id}:{diagnosis.guide}:{diagnosis.round}",
        "time": time,
        "outcome": diagnosis.outcome.value,
        "guide": cut(diagnosis.guide, 100),
        "round": diagnosis.round,
        "causes": [cut(text, SHORT) for text in views.causes(diagnosis)],
        "guided_query_id": diagnosis.guided_query_id,
        "reason": cut(diagnosis.reason, SHORT),
        "tokens": diagnosis.prompt_tokens + diagnosis.completion_tokens,
        "seconds": _short(diagnosis.seconds),
        "cost": _short(diagnosis.cost),
        "calls": [_call(call) for call in diagnosis.calls[-CALLS:]],
    }


def _call(call: AgentCall) -> Document:
    return {
        "agent": cut(call.agent, 100),
        "draft": call.draft,
        "refinement": call.refinement,
        "passed": call.passed,
        "result": cut(call.result),
        "error": cut(call.error, SHORT) if call.error else None,
        "model": cut(call.model, 100) if call.model else None,
        "tokens": call.prompt_tokens + call.completion_tokens,
        "seconds": _short(call.seconds),
    }


def _versions(trajectories: Iterable[Trajectory]) -> list[int]:
    """The oldest and the newest policy version that sampled."""
    versions = {run.policy_version for one in trajectories for run in one.policy}
    return [min(versions), max(versions)] if versions else []


def cut(text: str, most: int = LONG) -> str:
    """The text, or its beginning and how much more there is; what UTF-8 cannot say is replaced."""
    shown = text if len(text) <= most else f"{text[:most]} … and {len(text) - most:,} more characters"
    return shown.encode("utf-8", "replace").decode()


def _short(value: float) -> float | None:
    """Six digits, which a curve cannot show more of; None for what is no number."""
    return float(f"{value:.6g}") if isfinite(value) else None
