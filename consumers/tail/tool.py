"""What `mentor-stream tail` does, as it finds it by entry point (mentor_stream/tools.py)."""

import math
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

import anyio

from consumers import following
from consumers.following import Event
from consumers.tail import documents, views
from consumers.tail.choice import Choice
from consumers.tail.lessons import PATIENCE, Lessons, Result
from consumers.tail.views import Line
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import Broker, BrokerUnavailable, TopicPartition

AGAIN_SECONDS = 1.0
HINTS = (topics.GUIDED, topics.DIAGNOSES, topics.GROUPS, topics.COLLAPSED)

Show = Callable[[list[Line], dict[str, Any]], None]
"""Given each event as lines for a person and as a document for a program."""


def tail(
    url: str,
    run: str,
    what: str,
    wanted: Mapping[str, str | None],
    show: Show,
    *,
    since: float | None,
    count: int,
    follow: bool,
    remark: Callable[[str], None],
) -> None:
    """Show what goes by on a topic of a run, or its hints; for ever when it follows. Raises BrokerError.

    `remark` is told, in a sentence, where nothing of what is there was shown.
    """
    choice, shown = Choice(**wanted), [0]

    def counted(lines: list[Line], document: dict[str, Any]) -> None:
        shown[0] += 1
        show(lines, document)

    def told(unreadable: int) -> None:
        if not shown[0] and (count or since is not None):
            remark(
                _nothing(run, what, unreadable, chosen=choice != Choice() or since is not None, follow=follow)
            )

    anyio.run(
        partial(_tail, url, run, what, choice, counted, told, since, count, follow=follow), backend="trio"
    )


def _nothing(run: str, what: str, unreadable: int, *, chosen: bool, follow: bool) -> str:
    wanted = "hints" if what == "hints" else f"records on {what}"
    lost = (
        f"; {unreadable:,} records could not be read, tail guided or diagnoses shows why"
        if unreadable
        else ""
    )
    waiting = " yet: waiting for them" if follow else ""
    return f"run {run} has no {'such ' if chosen else ''}{wanted}{waiting}{lost}"


async def _tail(
    url: str,
    run: str,
    what: str,
    choice: Choice,
    show: Show,
    told: Callable[[int], None],
    since: float | None,
    count: int,
    *,
    follow: bool,
) -> None:
    """First what is there, then what comes: behind it, from the places where reading it ended."""
    wanted = HINTS if what == "hints" else (topics.find(what, run),)
    teller: Teller = LessonTeller(choice, show) if what == "hints" else EventTeller(choice, show)
    unreadable = 0
    async with brokers.connect(url, create=False) as broker:
        if since is not None:
            places = await following.since(broker, run, wanted, since)
        elif what == "hints":
            places = await _last_hints(broker, run, count)
        else:
            places = await following.last(broker, run, wanted, count)
        async with aclosing(following.events(broker, run, wanted, places, follow=False)) as events:
            async for event in events:
                places[event.place] = event.offset + 1
                unreadable += event.record is None
                teller.take(event, live=False)
        teller.told_all()
        told(unreadable)
        while follow:
            try:
                async with aclosing(following.events(broker, run, wanted, places, follow=True)) as events:
                    async for event in events:
                        places[event.place] = event.offset + 1
                        teller.take(event, live=True)
            except BrokerUnavailable:  # it died while reading began; its client says so in the log
                await anyio.sleep(AGAIN_SECONDS)


async def _last_hints(broker: Broker, run: str, count: int) -> dict[TopicPartition, int]:
    """Where reading begins for the last `count` hints of every partition, and for all that came of them."""
    hint, *others = HINTS
    places = await following.last(broker, run, [hint], count)
    bounds = await broker.bounds(hint.of(run))
    kept = [(place, offset) for place, offset in places.items() if offset < bounds[place].next]
    times = [await following.appended(broker, place, offset) for place, offset in kept]
    begun = min((time for time in times if time is not None), default=None)
    if begun is None:
        return places | await following.last(broker, run, others, 0)
    return places | await following.since(broker, run, others, max(0.0, begun - PATIENCE))


class Teller(Protocol):
    """Shows what is worth it of the events that it takes."""

    def take(self, event: Event, *, live: bool) -> None:
        """One event; what was there before is taken first, in no order of time."""
        ...

    def told_all(self) -> None:
        """All that was there before has been taken."""
        ...


class EventTeller:
    """Shows records, each as it is read."""

    def __init__(self, choice: Choice, show: Show) -> None:
        self._choice, self._show = choice, show

    def take(self, event: Event, *, live: bool) -> None:
        """See Teller."""
        if event.record is None or self._choice.wants(event.record):
            self._show(views.event(event), documents.of_event(event))

    def told_all(self) -> None:
        """See Teller."""


class LessonTeller:
    """Shows lessons and their results: those that were there in the order of time."""

    def __init__(self, choice: Choice, show: Show) -> None:
        self._choice, self._show = choice, show
        self._lessons = Lessons()

    def take(self, event: Event, *, live: bool) -> None:
        """See Teller."""
        self._lessons.take(event)
        if live:
            self._tell(event.time)

    def told_all(self) -> None:
        """See Teller."""
        self._tell(math.inf)

    def _tell(self, now: float) -> None:
        for one in self._lessons.ready(now):
            if not self._choice.wants(one.query):
                continue
            if isinstance(one, Result):
                self._show(views.result(one), documents.of_result(one))
            else:
                self._show(views.lesson(one), documents.of_lesson(one))
