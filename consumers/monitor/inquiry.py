"""Questions that memory alone cannot answer: one question's history, and hints further back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from consumers.following import Event
from consumers.monitor import documents, past
from consumers.monitor.asked import Asked, holds
from consumers.monitor.board import Board
from consumers.monitor.documents import Document
from consumers.monitor.index import question_key
from consumers.tail.choice import query_of
from mentor_stream import topics
from mentor_stream.broker import Broker, BrokerUnavailable
from mentor_stream.topics import Topic
from schemas import Diagnosis, Group, Query

PAGE = 30
"""Hints, and records of a question, that are told at once."""
SEARCH_SECONDS = 3.0
"""After which a search says how far it came."""
LIMIT_SECONDS = 30.0
SIDE_BY_SIDE = 2
"""Inquiries that read at once; others wait their turn."""
QUEUED = 16
"""That wait; more are refused."""
STORY = (topics.GROUPS, topics.COLLAPSED, topics.GUIDED, topics.DIAGNOSES)
ASKED = (topics.GUIDED, topics.COLLAPSED, topics.GROUPS, topics.QUERIES)

T = TypeVar("T")


class Busy(Exception):
    """Too many ask at once."""


@dataclass(slots=True)
class Turns:
    """Bounds how many inquiries read at once, and how many wait."""

    limiter: anyio.CapacityLimiter

    async def take(self, work: Callable[[], Any]) -> Any:
        """What `work` gives, in its turn. Raises Busy, BrokerUnavailable."""
        if self.limiter.statistics().tasks_waiting >= QUEUED:
            raise Busy
        try:
            with anyio.fail_after(LIMIT_SECONDS):
                async with self.limiter:
                    return await work()
        except TimeoutError as error:
            raise BrokerUnavailable(f"no answer within {LIMIT_SECONDS:.0f} s") from error


class Inquiry:
    """Asks the broker, on behalf of a client, what the board does not know."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._turns = Turns(anyio.CapacityLimiter(SIDE_BY_SIDE))

    async def hints(self, broker: Broker, text: str, before: float | None) -> Document:
        """Hints with `text` in them or in their question, or of this id; newest first, before a moment.

        Raises Busy, BrokerError.
        """
        found = await self._search(broker, (topics.GUIDED,), _Holding(text), before)
        hints = [
            documents.hint(event.record, event.time, None, self._board.feed.score(event.record.query_id))
            for event in found.matches
            if isinstance(event.record, Query) and event.record.hint
        ]
        return {"hints": hints, "before": found.reached}

    async def questions(self, broker: Broker, text: str, before: float | None) -> Document:
        """Hints as above, and once each question with `text` in it, or of this id, that has none so far.

        Raises Busy, BrokerError.
        """
        wanted = Asked(text, self._board.feed.score)
        found = await self._search(broker, ASKED, wanted, before)
        return {"found": found.matches, "before": found.reached}

    async def question(self, broker: Broker, key: str, before: float | None) -> Document:
        """Everything known at once about one question; with a moment, what lies further back.

        Raises Busy, BrokerError.
        """
        index = self._board.index
        if before is None:
            places = index.about(key)
            events = await self._turns.take(lambda: past.read(broker, self._board.run, places))
            reached = index.since
        else:
            found = await self._search(broker, STORY, _About(key, set(index.groups(key))), before)
            events, reached = found.matches, found.reached
        asked = next((query for query in (query_of(event.record) for event in events) if query), None)
        told = [document for document in map(documents.happening, events) if document]
        return {
            "key": key,
            "question": documents.cut(asked.question) if asked else None,
            "reference": documents.cut(asked.reference, documents.SHORT) if asked else None,
            # what was delivered twice stands on the stream twice
            "history": sorted({(d["kind"], d["id"]): d for d in told}.values(), key=lambda d: d["time"]),
            "before": reached,
        }

    async def _search(
        self,
        broker: Broker,
        wanted: tuple[Topic[Any], ...],
        choose: past.Wanted[T],
        before: float | None,
    ) -> past.Found[T]:
        return await self._turns.take(
            lambda: past.search(
                broker, self._board.run, wanted, choose, before=before, count=PAGE, seconds=SEARCH_SECONDS
            )
        )


@dataclass(frozen=True, slots=True)
class _Holding:
    """Guided queries with a text in question or hint, or of an id."""

    text: str

    def kept(self, event: Event) -> Event | None:
        """See past.Wanted."""
        query = event.record
        return event if isinstance(query, Query) and query.hint and holds(query, self.text) else None

    def among(self, matches: list[past.Match[Event]]) -> list[past.Match[Event]]:
        """See past.Wanted."""
        return matches


@dataclass(frozen=True, slots=True)
class _About:
    """Records about a question. A diagnosis does not hold it, and is known by the group that it is of."""

    key: str
    groups: set[str]
    """Known from elsewhere, or met on the way."""

    def kept(self, event: Event) -> Event | None:
        """See past.Wanted."""
        return event if self._asks(event) or isinstance(event.record, Diagnosis) else None

    def among(self, matches: list[past.Match[Event]]) -> list[past.Match[Event]]:
        """See past.Wanted."""
        return [one for one in matches if self._asks(one.what) or self._is_of_ours(one.what.record)]

    def _asks(self, event: Event) -> bool:
        query = query_of(event.record)
        if query is None or question_key(query) != self.key:
            return False
        if isinstance(event.record, Group):
            self.groups.add(event.record.group_id)
        if query.hint:
            self.groups.add(query.hint.group_id)
        return True

    def _is_of_ours(self, record: object) -> bool:
        return isinstance(record, Diagnosis) and record.group_id in self.groups
