"""The mentor: collapsed groups in, guided queries and diagnoses out, many cases at once."""

import logging
import sys
import time
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field, NonNegativeInt

from consumers import casework
from consumers.budget import Budget, budget
from consumers.casework import Action
from consumers.guides.base import Case, Guide, Lesson
from consumers.leak.guard import Guard, GuardMode, guarding
from consumers.tally import Tally
from mentor_stream import plugins, releases, telemetry, topics
from mentor_stream.component import Component
from mentor_stream.config import Config, Section
from mentor_stream.process import serve
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig
from mentor_stream.stream import Delivery, Stream, opened
from mentor_stream.topics import TopicsConfig
from schemas import Group, Outcome, PolicyRelease

GUIDES = "consumers.guides"
REPORT_SECONDS = 1.0
MAX_REASON = 2000
"""Characters kept of what a guide raised."""

log = logging.getLogger(__name__)


class MentorConfig(Section):
    """Section [mentor]."""

    table: ClassVar[str] = "mentor"

    guide: dict[str, Any] = Field(default_factory=lambda: {"kind": "none"})
    """The mentor policy: `kind` (fdcg, none, filter, or your own `module:object`) and its options."""
    concurrency: int = Field(16, ge=1)
    """Cases worked on at once."""
    max_case_age: NonNegativeInt | Literal["unlimited"] = 4
    """Skip a collapsed group this many policy versions old; its mistakes are not today's."""
    max_rounds: int = Field(1, ge=1)
    """Lessons on one question before it is given up; each sees the hints of those before."""
    leak_guard: GuardMode = "math"
    """How hints are searched for the answer: `math` in any equivalent spelling, `text` as the reference is
    written, `off` for references that are no secret."""


class Mentor:
    """One mentor process at work."""

    def __init__(
        self, config: MentorConfig, stream: Stream, guide: Guide, guard: Guard, budget: Budget
    ) -> None:
        self._config, self._stream = config, stream
        self._guide, self._guard, self._budget = guide, guard, budget
        self._slots = anyio.Semaphore(config.concurrency)
        self._version = 0  # what a run starts from, before any release
        self._tally = Tally()

    async def run(self) -> None:
        """Work until cancelled."""
        prefetch = 2 * self._config.concurrency
        async with anyio.create_task_group() as tasks:
            await tasks.start(releases.follow, self._stream, self._take)
            tasks.start_soon(self._report)
            async with self._stream.consumer(topics.COLLAPSED, prefetch=prefetch) as cases:
                await self._work(cases)

    def _take(self, release: PolicyRelease) -> None:
        self._version = release.policy_version

    async def _work(self, cases: AsyncIterator[Delivery[Group]]) -> None:
        async with anyio.create_task_group() as lessons:
            while True:
                await self._slots.acquire()  # before a case is taken: until then another mentor may have it
                lessons.start_soon(self._deal_with, await anext(cases))

    async def _deal_with(self, case: Delivery[Group]) -> None:
        """Publish what comes of a case, then release it: a crash in between repeats it under the same ids."""
        group, began = case.record, time.perf_counter()
        lesson = await self._lesson(group)
        guided = casework.guided_query(group, self._guide.name, lesson.hint) if lesson.hint else None
        if guided:
            await self._stream.publish(topics.GUIDED, guided)
        seconds = time.perf_counter() - began
        record = casework.diagnosis(group, self._guide.name, lesson, guided, seconds)
        await self._stream.publish(topics.DIAGNOSES, record)
        case.done()
        self._slots.release()
        self._tally.count(lesson.outcome, seconds)

    async def _lesson(self, group: Group) -> Lesson:
        version = self._version
        age = None if self._config.max_case_age == "unlimited" else self._config.max_case_age
        action = casework.decide(group, version=version, max_case_age=age, max_rounds=self._config.max_rounds)
        if action is not Action.TEACH:
            return casework.untaught(group, action, version)
        case = Case(
            group=group,
            round=casework.guidance_round(group.query),
            earlier=casework.earlier_hints(group.query),
            fits=partial(self._budget.fits, group),
            leak=partial(self._guard.leak, group.query),
        )
        with self._tally.working():
            return await self._inspected(case, await self._taught(case))

    async def _taught(self, case: Case) -> Lesson:
        """The guide's lesson. One that raises costs its own case the lesson, and the diagnosis says so."""
        try:
            return await self._guide.teach(case)
        except Exception as error:
            log.exception("guide %s failed on group %s", self._guide.name, case.group.group_id)
            return Lesson(Outcome.SILENT, f"the guide raised {type(error).__name__}: {error}"[:MAX_REASON])

    async def _inspected(self, case: Case, lesson: Lesson) -> Lesson:
        """The lesson, without its hint when that must not be published, whatever the guide thinks of it."""
        if lesson.hint is None:
            return lesson
        if leak := await case.leak(lesson.hint):
            return Lesson(Outcome.SILENT, leak, None, lesson.calls)
        if not case.fits(lesson.hint):
            return Lesson(Outcome.SILENT, "the hint exceeds the prompt budget", None, lesson.calls)
        return lesson

    async def _report(self) -> None:
        while True:
            await telemetry.report(self._stream, self._tally.values(), policy_version=self._version)
            await anyio.sleep(REPORT_SECONDS)


async def _main(config: Config) -> None:
    section = config.of(MentorConfig)
    guide = plugins.build(GUIDES, section.guide, "mentor.guide")
    if guide is None:
        sys.stderr.write(f"mentor: the guide {section.guide['kind']} teaches nothing\n")
        return
    room = budget(config)
    async with guarding(section.leak_guard) as guard, opened(config, "mentor") as stream:
        await Mentor(section, stream, guide, guard, room).run()


def _check(config: Config) -> Iterable[str]:
    return plugins.check(GUIDES, config.of(MentorConfig).guide, "mentor.guide")


component = Component(
    name="mentor",
    sections=(MentorConfig, PromptConfig, RolloutConfig, TopicsConfig),
    run=lambda config: serve(partial(_main, config)),
    check=_check,
)
