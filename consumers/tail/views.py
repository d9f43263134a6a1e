"""An event in words, one screenful at most. Whatever a model wrote is text: it steers no terminal."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from consumers.following import Event
from consumers.tail.lessons import Lesson, Result
from mentor_stream.legible import line
from schemas import DeadLetter, Diagnosis, Group, PolicyRelease, Query, Record, Trajectory, Verdict

CHARACTERS = 400
"""Shown of a text; the rest is in `--json`."""
NAME = 60
"""And of a name."""
SHOWN_ANSWERS = 3
SHOWN_CALLS = 8

_ENDS = (".", "!", "?", ":", ";", ",")
UNDIAGNOSED = "not known: no diagnosis of this hint was found"
"""A mentor that dies between the two leaves a hint without; whoever does its case again adds it."""


INDENT = 15
"""Where texts begin, behind their label."""


class Line(NamedTuple):
    """What is printed, and how it should look: head, label, good, bad, hint or nothing."""

    text: str
    style: str = ""
    indent: int = 0
    """Columns before its second row, where it takes more than one."""


def lesson(one: Lesson) -> list[Line]:
    """A question, what went wrong with it, and the hint."""
    hint = one.query.hint
    assert hint is not None, "a guided query has one"
    lines = [_head(one.time, _id(one.query), f"lesson {hint.round} by {hint.guide}")]
    lines.append(_labelled("question", one.query.question))
    wrong = causes(one.diagnosis) if one.diagnosis else [UNDIAGNOSED]
    lines += [_labelled("went wrong", text, "bad") for text in wrong]
    return [*lines, _labelled("hint", hint.text, "hint"), Line("")]


def result(one: Result) -> list[Line]:
    """How a lesson's group scored."""
    style = "good" if one.right else "bad"
    return [
        _head(
            one.time,
            _id(one.query),
            f"with its hint {_score(one.right, one.judged, one.trajectories)}",
            style,
        )
    ]


def event(one: Event) -> list[Line]:
    """Any record, by its kind."""
    where = f"{one.topic.name}/{one.place.partition}/{one.offset}"
    if one.record is None:
        return [_head(one.time, where, f"cannot be read: {_cut(one.trouble)}", "bad")]
    view: Callable[[Any, float], list[Line]] = _VIEWS[type(one.record)]
    return view(one.record, one.time)


def _query(query: Query, time: float) -> list[Line]:
    asked = f"lesson {query.hint.round} by {query.hint.guide}" if query.hint else f"attempt {query.attempt}"
    return [_head(time, _id(query), asked), *_asked(query)]


def _asked(query: Query) -> list[Line]:
    """What a policy is asked."""
    hint = [_labelled("hint", query.hint.text, "hint")] if query.hint else []
    return [_labelled("question", query.question), *hint]


def _group(group: Group, time: float) -> list[Line]:
    verdicts = [t.verdict for t in group.trajectories]
    right = verdicts.count(Verdict.RIGHT)
    score = _score(right, right + verdicts.count(Verdict.WRONG), len(verdicts))
    asked = f"lesson {group.query.hint.round}" if group.query.hint else "plain"
    said = f"{score}, {asked}, {group.completion_tokens} tokens{_versions(group)}"
    lines = [_head(time, _id(group.query), said, "good" if right else "bad")]
    lines += _asked(group.query)
    shown = _telling(group.trajectories)
    lines += [_answer(one) for one in shown]
    if left := len(group.trajectories) - len(shown):
        lines.append(_labelled("", f"and {left} more answer{'s' * (left > 1)}: --json has them all"))
    return [*lines, Line("")]


def _diagnosis(diagnosis: Diagnosis, time: float) -> list[Line]:
    spent = f"{len(diagnosis.calls)} calls, {diagnosis.prompt_tokens + diagnosis.completion_tokens} tokens"
    said = f"{diagnosis.outcome.value} by {diagnosis.guide}, {spent}, {diagnosis.seconds:.1f} s"
    lines = [_head(time, diagnosis.query_id, said, "good" if diagnosis.hint else "bad")]
    lines.append(_labelled("because", diagnosis.reason))
    for call in diagnosis.calls[-SHOWN_CALLS:]:
        verdict = {None: "", True: "passed: ", False: "refused: "}[call.passed]
        lines.append(
            _labelled(call.agent, f"{verdict}{call.error or call.result}", "bad" if call.error else "")
        )
    if diagnosis.hint:
        lines.append(_labelled("hint", diagnosis.hint.text, "hint"))
    return [*lines, Line("")]


def _release(release: PolicyRelease, time: float) -> list[Line]:
    c = release.consumed
    end = ", the last" if release.final else ""
    lessons = f"{c.rescued} of {c.guided} lessons rescued"
    counted = f"{c.accepted} groups taken, {c.collapsed} collapsed, {lessons}, {c.tokens} tokens"
    return [_head(time, f"policy {release.policy_version}", f"step {release.step}{end}: {counted}")]


def _letter(letter: DeadLetter, time: float) -> list[Line]:
    where = f"{letter.topic}/{letter.partition}/{letter.offset}"
    return [_head(time, where, f"refused by {_cut(letter.source, NAME)}: {_cut(letter.error)}", "bad")]


_VIEWS: dict[type[Record], Callable[[Any, float], list[Line]]] = {
    Query: _query,
    Group: _group,
    Diagnosis: _diagnosis,
    PolicyRelease: _release,
    DeadLetter: _letter,
}


def causes(diagnosis: Diagnosis) -> Iterator[str]:
    """What the agents found, or else what the case was closed with."""
    found = [call for call in diagnosis.calls if call.agent in ("attribution", "critique") and call.result]
    if not found:
        yield diagnosis.reason
    elif found[-1].agent == "attribution":
        yield _paragraph(found[-1].result)
    else:
        yield found[-1].result


def _paragraph(lines: str) -> str:
    """Lines that say a thing each as one text."""
    *others, last = [line.strip() for line in lines.splitlines() if line.strip()] or [""]
    return " ".join([one if one.endswith(_ENDS) else f"{one};" for one in others] + [last])


def _telling(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """A few answers, of each verdict the first ones."""
    seen: dict[Verdict, int] = {}
    for one in trajectories:
        seen.setdefault(one.verdict, 0)
    first = [next(t for t in trajectories if t.verdict is verdict) for verdict in seen]
    others = [t for t in trajectories if not any(t is one for one in first)]
    return [*first, *others][:SHOWN_ANSWERS]


def _answer(one: Trajectory) -> Line:
    remark = f" ({_cut(one.remark)})" if one.remark else ""
    style = {Verdict.RIGHT: "good", Verdict.WRONG: "bad"}.get(one.verdict, "")
    return _labelled(one.verdict.value, f"{_cut(one.text)}{remark}", style)


def _versions(group: Group) -> str:
    versions = sorted({run.policy_version for t in group.trajectories for run in t.policy})
    if not versions:
        return ""
    return f", policy {versions[0]}" + (f" to {versions[-1]}" if len(versions) > 1 else "")


def _score(right: int, judged: int, trajectories: int) -> str:
    left = f", {trajectories - judged} not judged" if judged < trajectories else ""
    return f"{right} of {judged} right{left}"


def _id(query: Query) -> str:
    return query.query_id[:12]


def _head(time: float, what: str, said: str, style: str = "") -> Line:
    when = datetime.fromtimestamp(time, UTC).astimezone().strftime("%H:%M:%S")
    return Line(f"{when}  {_cut(what, NAME)}  {said}", style or "head", len(when) + 2)


def _labelled(label: str, text: str, style: str = "") -> Line:
    return Line(f"  {_cut(label, NAME):>{INDENT - 4}}  {_cut(text)}", style, INDENT)


def _cut(text: str, most: int = CHARACTERS) -> str:
    """On one line and not endless."""
    flat = line(" ".join(text[: 4 * most].split()))
    return flat if len(flat) <= most else f"{flat[:most]} ..."
