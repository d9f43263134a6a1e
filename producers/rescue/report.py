"""What sampling says of hints, in figures. No I/O.

A case is rescued when one of its answers is right. Questions are what uncertainty is over, so one that failed
several times counts once, by the mean over its cases; answers without a verdict count nowhere.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from producers.evaluation import estimates
from producers.evaluation.estimates import Count, Interval
from producers.evaluation.results import Asked
from producers.rescue.trials import Case, Trials, question_id, trial_id
from schemas import Hint


class Found(NamedTuple):
    """What came of one case, asked in one way."""

    question_id: str
    answers: Count
    unscorable: int = 0
    refusal: str | None = None
    """Why it was not sampled."""


Way = Sequence[Found | None]
"""All cases asked in one way, in their order; None where there was nothing to ask."""


def document(cases: Sequence[Case], wanted: Trials, found: Mapping[str, Asked]) -> dict[str, Any]:
    """Of each run, of no hint at all, and of each case."""
    none = [_found(case, None, wanted, found) for case in cases]
    ways = [
        [
            None if hint is None else _found(case, hint, wanted, found)
            for case, hint in zip(cases, hints, strict=True)
        ]
        for hints in zip(*(case.hints for case in cases), strict=True)
    ]
    return {
        "runs": [figures(way) | {"against_none": paired(way, none)} for way in ways],
        "none": figures(none),
        "paired": paired(*ways),
        "unknown_cases": sum(case.query is None for case in cases),
        "questions": [
            {"none": row(bare), "hints": [row(way[place]) for way in ways]} for place, bare in enumerate(none)
        ],
    }


def figures(way: Way) -> dict[str, Any]:
    """Of the cases that were asked this way: how many were rescued, what share of answers was right."""
    asked = [found for found in way if found]
    rescues, answers = _rescues(asked), _answers(asked)
    return {
        "cases": len(asked),
        "judged": sum(found.answers.judged > 0 for found in asked),
        "questions": len(rescues),
        "rescued": sum(found.answers.right > 0 for found in asked),
        "rescue_rate": estimates.accuracy(list(rescues.values())) if rescues else None,
        "rescue_interval": _interval(rescues),
        "accuracy": estimates.accuracy(list(answers.values())) if answers else None,
        "accuracy_interval": _interval(answers),
        "refused": sum(found.refusal is not None for found in asked),
        "unscorable_answers": sum(found.unscorable for found in asked),
    }


def paired(first: Way, second: Way) -> dict[str, Any] | None:
    """One way against another, on the cases that were judged in both; None when there is no such case."""
    both = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if a and b and a.answers.judged and b.answers.judged
    ]
    if not both:
        return None
    ones, others = [a for a, _ in both], [b for _, b in both]
    return {
        "cases": len(both),
        "rescue": _difference(_rescues(ones), _rescues(others)),
        "accuracy": _difference(_answers(ones), _answers(others)),
    }


def row(found: Found | None) -> dict[str, Any] | None:
    """One case, asked in one way."""
    if found is None:
        return None
    return {
        "right": found.answers.right,
        "judged": found.answers.judged,
        "unscorable": found.unscorable,
        "refusal": found.refusal,
    }


def _rescues(asked: Sequence[Found]) -> dict[str, Count]:
    """Of each question: cases that were judged, and rescued ones."""
    return _summed(
        [
            (found.question_id, Count(1, int(found.answers.right > 0)))
            for found in asked
            if found.answers.judged
        ]
    )


def _answers(asked: Sequence[Found]) -> dict[str, Count]:
    """Of each question: answers that were judged, and right ones."""
    return _summed([(found.question_id, found.answers) for found in asked if found.answers.judged])


def _summed(counts: Sequence[tuple[str, Count]]) -> dict[str, Count]:
    sums: dict[str, Count] = defaultdict(lambda: Count(0, 0))
    for name, count in counts:
        before = sums[name]
        sums[name] = Count(before.judged + count.judged, before.right + count.right)
    return dict(sums)


def _difference(first: Mapping[str, Count], second: Mapping[str, Count]) -> dict[str, Any]:
    found = estimates.paired(first, second)
    return found._asdict() | {"interval": _both(found.interval)}


def _interval(counts: Mapping[str, Count]) -> list[float] | None:
    return _both(estimates.interval([count.accuracy for count in counts.values()]))


def _both(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _found(case: Case, hint: Hint | None, wanted: Trials, found: Mapping[str, Asked]) -> Found | None:
    if case.query is None:
        return None
    name, question = trial_id(case.query, hint), question_id(case.query)
    if (why := wanted.refused.get(name)) is not None:
        return Found(question, Count(0, 0), refusal=why)
    asked = found[name]
    return Found(question, asked.count, len(asked.answers) - asked.count.judged)
