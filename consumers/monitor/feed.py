"""The newest hints with what they answer, what was wrong and how they scored. No I/O."""

from collections import OrderedDict
from dataclasses import dataclass

from consumers.following import Event
from consumers.monitor import documents
from consumers.monitor.score import Score, score_of
from consumers.tail.lessons import Lesson, Lessons
from schemas import Diagnosis, Group

SHOWN = 100
"""Hints that are kept at hand; older ones are read again from the stream."""
SCORES = 100_000
"""Lessons whose score is remembered."""


@dataclass(slots=True)
class Shown:
    """One hint as the page shows it."""

    mark: int
    """When it last changed."""
    document: documents.Document


class Feed:
    """Takes guided queries, diagnoses and groups in any order."""

    def __init__(self) -> None:
        self._lessons = Lessons()
        self._shown: OrderedDict[str, Shown] = OrderedDict()
        self._scores: OrderedDict[str, Score] = OrderedDict()
        self._dropped = 0

    def take(self, event: Event, mark: int) -> None:
        """One record more."""
        self._lessons.take(event)
        match event.record:
            case Diagnosis(guided_query_id=str(late)) as diagnosis if late in self._shown:
                shown = self._shown[late]
                if not shown.document["diagnosed"]:
                    shown.mark = mark
                    shown.document |= documents.case(diagnosis, sought=True)
            case _:
                pass
        if isinstance(event.record, Group) and event.record.query.hint:
            query_id, score = event.record.query.query_id, score_of(event.record)
            self._scores[query_id] = score
            if len(self._scores) > SCORES:
                self._scores.popitem(last=False)
            if shown := self._shown.get(query_id):
                shown.mark, shown.document["score"] = mark, documents.score(score)

    def tell(self, now: float, mark: int, since: float | None = None) -> bool:
        """Put up the hints of which all is known, or overdue, at this time. Whether there are any.

        Records from before `since` were not read: of older hints nobody knows whether they have a diagnosis.
        """
        lessons = [one for one in self._lessons.ready(now) if isinstance(one, Lesson)]
        for lesson in lessons:
            found = lesson.diagnosis is not None
            self._show(lesson, mark, sought=found or since is None or lesson.time >= since)
        return bool(lessons)

    def since(self, mark: int) -> list[documents.Document]:
        """Hints that are new or were changed behind `mark`, the oldest first."""
        return [shown.document for shown in self._shown.values() if shown.mark > mark]

    def misses(self, mark: int) -> bool:
        """Whether hints came behind `mark` that are not at hand any more."""
        return mark < self._dropped

    def score(self, query_id: str) -> Score | None:
        """How a lesson scored, if that is remembered."""
        return self._scores.get(query_id)

    def _show(self, lesson: Lesson, mark: int, *, sought: bool) -> None:
        query_id = lesson.query.query_id
        document = documents.hint(
            lesson.query, lesson.time, lesson.diagnosis, self.score(query_id), sought=sought
        )
        self._shown[query_id] = Shown(mark, document)
        if len(self._shown) > SHOWN:
            _, gone = self._shown.popitem(last=False)
            self._dropped = max(self._dropped, gone.mark)
