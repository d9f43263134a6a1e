"""A run in numbers, and the cases of two runs beside each other. No I/O."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

from consumers.comparison.record import Case, Recorded, Score

SOLVED = 0.8
"""Share of right answers without a hint from which on hints have next to nothing left to help with."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What two runs made of one question."""

    question: str
    first: Case
    second: Case


def pairs(first: Recorded, second: Recorded) -> list[Pair]:
    """Cases of the same collapsed group; if the runs share none, the last of the same question and round."""
    same = [group for group in first.cases if group in second.cases]
    if same:
        return [_pair(first, second, first.cases[group], second.cases[group]) for group in same]
    ours, theirs = _by_question(first), _by_question(second)
    return [_pair(first, second, case, theirs[key]) for key, case in ours.items() if key in theirs]


def figures(run: Recorded, cases: Iterable[Case]) -> dict[str, Any]:
    """Of some of a run's cases: outcomes, what they took, and what the hints were good for."""
    chosen = list(cases)
    hints = [case for case in chosen if case.hint is not None]
    scores = [score for case in hints if (score := _score(run, case)) and score.judged]
    return {
        "run": run.name,
        "guides": sorted({case.guide for case in chosen}),
        "cases": len(chosen),
        "undiagnosed": run.undiagnosed,
        "outcomes": dict(sorted(Counter(case.outcome.value for case in chosen).items())),
        "hint_rate": len(hints) / len(chosen) if chosen else None,
        "leak_rate": _mean(bool(case.effort.leaks) for case in chosen),
        "refined": _mean(case.effort.refined for case in chosen),
        "redrafted": _mean(case.effort.redrafted for case in chosen),
        "tokens": _mean(case.tokens for case in chosen),
        "seconds": _mean(case.seconds for case in chosen),
        "cost": sum(case.cost for case in chosen),
        "answered": len(scores),
        "rescue_rate": _mean(score.right > 0 for score in scores),
        "accuracy": _mean(score.right / score.judged for score in scores),
    }


def row(first: Recorded, second: Recorded, pair: Pair) -> dict[str, Any]:
    """One question with both hints."""
    sides = ((first, pair.first), (second, pair.second))
    return {"question": pair.question, "sides": [_side(run, case) for run, case in sides]}


def with_samples(document: Mapping[str, Any], sampled: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison with what came of sampling its cases, which `sampled` has in the same order."""
    found = {**sampled, "warning": warning(sampled)}
    runs = zip(document["runs"], found.pop("runs"), strict=True)
    rows = zip(document["questions"], found.pop("questions"), strict=True)
    return {
        "sampled": found,
        "runs": [run | {"sampled": of_run} for run, of_run in runs],
        "questions": [_with_samples(one, of_case) for one, of_case in rows],
    }


def warning(sampled: Mapping[str, Any]) -> str | None:
    """Why these samples say nothing about hints, if so: who is right without one has no use for it."""
    share = sampled["none"]["accuracy"]
    if share is None or share < SOLVED:
        return None
    return (
        f"{100 * share:.0f} % of the answers without a hint are right: this policy has learned what others "
        "failed at, so these figures say nothing about the hints. Try them on an earlier policy: --model"
    )


def _with_samples(one: Mapping[str, Any], sampled: Mapping[str, Any]) -> dict[str, Any]:
    sides = zip(one["sides"], sampled["hints"], strict=True)
    return {
        "question": one["question"],
        "sampled": sampled["none"],
        "sides": [side | {"sampled": found} for side, found in sides],
    }


def _side(run: Recorded, case: Case) -> dict[str, Any]:
    score = _score(run, case)
    return {
        "group_id": case.group_id,
        "outcome": case.outcome.value,
        "hint": case.hint and case.hint.text,
        "reason": case.reason,
        "leaks": case.effort.leaks,
        "refined": case.effort.refined,
        "redrafted": case.effort.redrafted,
        "tokens": case.tokens,
        "seconds": case.seconds,
        "right": score and score.right,
        "judged": score and score.judged,
    }


def _pair(first: Recorded, second: Recorded, ours: Case, theirs: Case) -> Pair:
    known = (first.questions.get(ours.group_id), second.questions.get(theirs.group_id))
    return Pair(next((question for question in known if question), ours.query_id), ours, theirs)


def _by_question(run: Recorded) -> dict[tuple[str, int], Case]:
    return {(case.query_id, case.round): case for case in run.cases.values()}


def _score(run: Recorded, case: Case) -> Score | None:
    return run.scores.get(case.guided_query_id) if case.guided_query_id else None


def _mean(values: Iterator[float]) -> float | None:
    found = list(values)
    return mean(found) if found else None
