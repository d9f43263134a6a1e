"""A mentor at work on a real stream, with a guide whose lessons a function makes."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

import schemas
from consumers.budget import Budget
from consumers.config import MentorConfig
from consumers.guides.base import Case, Lesson
from consumers.leak.guard import Guard
from consumers.mentor import Mentor
from consumers.teaching import Teacher
from mentor_stream import topics
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits
from mentor_stream.stream import Stream
from schemas import Group, Outcome
from tests.builders import a_group, a_query


class ScriptedGuide:
    """A guide whose lessons a function makes."""

    name = "scripted"

    def __init__(self, teach: Callable[[Case], Awaitable[Lesson]]) -> None:
        self.cases: list[Case] = []
        self._teach = teach

    async def teach(self, case: Case) -> Lesson:
        self.cases.append(case)
        return await self._teach(case)


async def a_hint(case: Case) -> Lesson:
    return Lesson(Outcome.HINT, "validated", f"Hint of round {'I' * case.round}")


@asynccontextmanager
async def mentoring(
    stream: Stream, guide: ScriptedGuide, config: MentorConfig | None = None, *, max_prompt_tokens: int = 1000
) -> AsyncGenerator[None]:
    """A mentor at work on the stream."""
    limits = LengthLimits(prompt=max_prompt_tokens, completion=8, context=None)
    budget = Budget(PromptConfig(), limits, lambda text: len(text.split()))
    mentor = Mentor(config or MentorConfig(), stream, Teacher(guide, Guard("text"), budget))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mentor.run)
        yield
        tasks.cancel_scope.cancel()


def question(number: int) -> schemas.Query:
    return a_query(f"What is 2 + {number + 3}?", str(number + 5), position=number)


async def publish_cases(stream: Stream, count: int, *, version: int = 0) -> list[Group]:
    groups = [a_group("WWWW", query=question(n), version=version) for n in range(count)]
    for group in groups:
        await stream.publish(topics.COLLAPSED, group)
    return groups
