"""A search for questions, whether they have a hint or not. No I/O."""

from collections.abc import Callable

from consumers.following import Event
from consumers.monitor import documents
from consumers.monitor.documents import Document
from consumers.monitor.past import Match
from consumers.monitor.score import Score, score_of
from consumers.tail.choice import query_of
from schemas import Group, Query


def holds(query: Query, text: str) -> bool:
    """Whether the text is in a question or its hint, or the id of the query or of the hint's group."""
    wanted, hint = text.casefold(), query.hint
    return (
        text in (query.query_id, hint and hint.group_id)
        or wanted in query.question.casefold()
        or (hint is not None and wanted in hint.text.casefold())
    )


class Asked:
    """A past.Wanted: each hint, and each question once, by its newest record, unless a newer hint is of it.

    Of records only what is told of them is kept: a block of groups is large.
    """

    def __init__(self, text: str, score: Callable[[str], Score | None]) -> None:
        self._text, self._score = text, score
        self._told: set[str] = set()
        """Hints and questions, by id."""

    def kept(self, event: Event) -> Document | None:
        """See past.Wanted."""
        record, query = event.record, query_of(event.record)
        group = record if isinstance(record, Group) else None
        if query is None or not (holds(query, self._text) or (group and group.group_id == self._text)):
            return None
        score = score_of(group) if group else self._score(query.query_id)
        if query.hint:
            return documents.hint(query, event.time, None, score)
        return documents.question(query, event.time, score)

    def among(self, matches: list[Match[Document]]) -> list[Match[Document]]:
        """See past.Wanted."""
        return [match for match in matches if self._is_new(match.what)]

    def _is_new(self, document: Document) -> bool:
        if document["id"] in self._told:
            return False
        self._told |= {document["id"], document["question_key"]}
        return True
