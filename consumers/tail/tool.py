"""What `mentor-stream tail` does, as it finds it by entry point (mentor_stream/tools.py)."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio

from consumers import following
from consumers.following import Event
from consumers.tail import documents, views
from consumers.tail.choice import Choice
from consumers.tail.lessons import Lesson, Lessons, Result
from consumers.tail.views import Line
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import Broker
from mentor_stream.config import Config
from mentor_stream.topics import Topic

HINTS = (topics.GUIDED, topics.DIAGNOSES, topics.GROUPS, topics.COLLAPSED)

Show = Callable[[list[Line], dict[str, Any]], None]
"""Given each event as lines for a person and as a document for a program."""


def tail(
    config: Config,
    what: str,
    wanted: Mapping[str, str | None],
    show: Show,
    *,
    since: float | None,
    count: int,
    follow: bool,
) -> None:
    """Show what goes by on a topic, or the hints; for ever when it follows. Raises BrokerError."""
    choice = Choice(**wanted)
    anyio.run(partial(_tail, config, what, choice, show, since, count, follow=follow), backend="trio")


async def _tail(
    config: Config, what: str, choice: Choice, show: Show, since: float | None, count: int, *, follow: bool
) -> None:
    wanted = HINTS if what == "hints" else (topics.find(what, config.run.name),)
    async with brokers.connect(config.run.broker, create=False) as broker:
        events = await _events(broker, config.run.name, wanted, since, count, follow=follow)
        async with aclosing(events):
            if what == "hints":
                await _show_lessons(events, choice, show)
            else:
                async for event in events:
                    if event.record is None or choice.wants(event.record):
                        show(views.event(event), documents.of_event(event))


async def _events(
    broker: Broker, run: str, wanted: Sequence[Topic[Any]], since: float | None, count: int, *, follow: bool
) -> AsyncGenerator[Event]:
    if since is None:
        start = await following.last(broker, run, wanted, count)
    else:
        start = await following.since(broker, run, wanted, since)
    return following.events(broker, run, wanted, start, follow=follow)


async def _show_lessons(events: AsyncIterator[Event], choice: Choice, show: Show) -> None:
    lessons = Lessons()
    async for event in events:
        for one in lessons.take(event):
            _show_lesson(one, choice, show)
    for one in lessons.rest():
        _show_lesson(one, choice, show)


def _show_lesson(one: Lesson | Result, choice: Choice, show: Show) -> None:
    if isinstance(one, Result):
        if choice.wants(one.query):
            show(views.result(one), documents.of_result(one))
    elif choice.wants(one.query):
        show(views.lesson(one), documents.of_lesson(one))
