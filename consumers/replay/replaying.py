"""Recorded cases through a guide: many at once, published in their order."""

from collections.abc import AsyncIterator, Callable

import anyio
from msgspec.structs import replace

from consumers import casework
from consumers.casework import Action
from consumers.chat import kept
from consumers.chat.kept import Replies
from consumers.guides.base import Lesson
from consumers.publishing import publish_diagnosis, publish_lesson
from consumers.teaching import Teacher
from mentor_stream.stream import Stream
from schemas import AgentCall, Group


class Replaying:
    """One guide over recorded cases; what comes of them goes to a stream of its own."""

    def __init__(
        self, teacher: Teacher, stream: Stream, replies: Replies | None, *, concurrency: int, max_rounds: int
    ) -> None:
        self._teacher, self._stream, self._replies, self._max_rounds = teacher, stream, replies, max_rounds
        self._slots = anyio.Semaphore(concurrency)

    async def run(self, cases: AsyncIterator[Group], ended: Callable[[], None]) -> None:
        """Teach every case; `ended` is told of each. Published in the order of the cases."""
        before = anyio.Event()
        before.set()
        async with anyio.create_task_group() as tasks:
            async for group in cases:
                await self._slots.acquire()
                published = anyio.Event()
                tasks.start_soon(self._replay, group, before, published, ended)
                before = published

    async def _replay(
        self, group: Group, before: anyio.Event, published: anyio.Event, ended: Callable[[], None]
    ) -> None:
        lesson = await self._lesson(group)
        await before.wait()
        await self._publish(group, lesson)
        published.set()
        self._slots.release()
        ended()

    async def _lesson(self, group: Group) -> Lesson:
        """As a mentor decides, but that no recorded policy is too old for it."""
        action = casework.decide(group, version=0, max_case_age=None, max_rounds=self._max_rounds)
        if action is not Action.TEACH:
            return casework.untaught(group, action, 0)
        with kept.case(self._replies):
            lesson = await self._teacher.lesson(group)
        return Lesson(lesson.outcome, lesson.reason, lesson.hint, tuple(map(self._timed, lesson.calls)))

    def _timed(self, call: AgentCall) -> AgentCall:
        """With kept replies times are those of the replies, so that a second pass says the same."""
        return call if self._replies is None or call.model is not None else replace(call, seconds=0.0)

    async def _publish(self, group: Group, lesson: Lesson) -> None:
        name, seconds = self._teacher.guide.name, sum(call.seconds for call in lesson.calls)
        lesson, guided = await publish_lesson(self._stream, name, group, lesson)
        await publish_diagnosis(self._stream, name, group, lesson, guided, seconds)
