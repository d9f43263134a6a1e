"""Hints with what they answer and what came of them, put together from three topics. No I/O."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from consumers.following import Event
from schemas import Diagnosis, Group, Query, Verdict

T = TypeVar("T")

REMEMBERED = 10_000
"""Lessons that are put together at once; of older ones it is not told any more."""
PATIENCE = 10.0
"""Seconds of the stream's time for which a lesson waits for its diagnosis, which follows it at once."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A hint on its way to the policy."""

    time: float
    query: Query
    diagnosis: Diagnosis | None
    """What the mentor did to get there; None when that has not been seen."""


@dataclass(frozen=True, slots=True)
class Result:
    """How the group that was asked with a hint scored."""

    time: float
    query: Query
    right: int
    judged: int
    trajectories: int


class Lessons:
    """Takes guided queries, diagnoses and groups in any order; gives each lesson once, then its results."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, tuple[float, Query]] = OrderedDict()
        self._known: OrderedDict[str, Diagnosis] = OrderedDict()
        self._scored: OrderedDict[str, list[Result]] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()

    def take(self, event: Event) -> None:
        """One record more."""
        match event.record:
            case Query(query_id=query_id) as query if query.hint and query_id not in self._told:
                _keep(self._asked, query_id, lambda: (event.time, query))
            case Diagnosis(guided_query_id=str(query_id)) as diagnosis if query_id not in self._told:
                _keep(self._known, query_id, lambda: diagnosis)
            case Group(query=query) as group if query.hint:
                _keep(self._scored, query.query_id, list[Result]).append(_result(event.time, group))
            case _:
                pass

    def ready(self, now: float) -> list[Lesson | Result]:
        """What can be told when the stream's time is `now`: lessons with their diagnosis, or overdue ones."""
        found: list[Lesson | Result] = []
        for query_id, (time, _) in list(self._asked.items()):
            if query_id in self._known or now - time > PATIENCE:
                found.append(self._lesson(query_id))
        for query_id in [query_id for query_id in self._scored if query_id in self._told]:
            found += self._scored.pop(query_id)
        return sorted(found, key=lambda one: (one.time, isinstance(one, Result)))

    def _lesson(self, query_id: str) -> Lesson:
        time, query = self._asked.pop(query_id)
        _keep(self._told, query_id, lambda: None)
        return Lesson(time, query, self._known.pop(query_id, None))


def _keep(known: OrderedDict[str, T], key: str, make: Callable[[], T]) -> T:
    """What is known under the key, made when there is nothing; the oldest goes when it is too much."""
    if key not in known:
        known[key] = make()
        if len(known) > REMEMBERED:
            known.popitem(last=False)
    return known[key]


def _result(time: float, group: Group) -> Result:
    verdicts = [t.verdict for t in group.trajectories]
    right = verdicts.count(Verdict.RIGHT)
    return Result(time, group.query, right, right + verdicts.count(Verdict.WRONG), len(verdicts))
