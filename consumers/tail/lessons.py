"""Hints with what they answer and what came of them, put together from three topics. No I/O."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from consumers.following import Event
from schemas import Diagnosis, Group, Query, Verdict

T = TypeVar("T")

REMEMBERED = 10_000
"""Lessons whose end is waited for; of older ones it is not told any more."""


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
    """Takes guided queries, diagnoses and groups in any order; gives each lesson once, then its result."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, tuple[float, Query]] = OrderedDict()
        self._known: OrderedDict[str, Diagnosis] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()

    def take(self, event: Event) -> list[Lesson | Result]:
        """What is known with this event that was not before it."""
        match event.record:
            case Query(query_id=query_id) as query if query.hint and query_id not in self._told:
                _remember(self._asked, query_id, (event.time, query))
                return self._lesson(query_id) if query_id in self._known else []
            case Diagnosis(guided_query_id=str(query_id)) as diagnosis:
                _remember(self._known, query_id, diagnosis)
                return self._lesson(query_id)
            case Group(query=query) as group if query.hint:
                lesson = self._lesson(query.query_id)
                return [*lesson, _result(event.time, group)] if query.query_id in self._told else []
            case _:
                return []

    def rest(self) -> list[Lesson | Result]:
        """Lessons of which no diagnosis has come, when nothing more comes."""
        return [one for query_id in list(self._asked) for one in self._lesson(query_id)]

    def _lesson(self, query_id: str) -> list[Lesson | Result]:
        if query_id not in self._asked:
            return []
        time, query = self._asked.pop(query_id)
        _remember(self._told, query_id, None)
        return [Lesson(time, query, self._known.pop(query_id, None))]


def _remember(known: OrderedDict[str, T], key: str, value: T) -> None:
    known[key] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _result(time: float, group: Group) -> Result:
    verdicts = [t.verdict for t in group.trajectories]
    right = verdicts.count(Verdict.RIGHT)
    return Result(time, group.query, right, right + verdicts.count(Verdict.WRONG), len(verdicts))
