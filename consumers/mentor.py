"""The mentor: collapsed groups in, guided queries and diagnoses out, many cases at once."""

import logging
import sys
import time
from collections.abc import AsyncIterator, Iterable
from functools import partial

import anyio
from anyio.abc import TaskGroup

from consumers import casework, spending
from consumers.backlog import Backlog, Line, Passed
from consumers.budget import budget
from consumers.casework import Action
from consumers.config import GUIDES, MentorConfig
from consumers.grace import Grace
from consumers.guides.base import Lesson
from consumers.leak.guard import guarding
from consumers.publishing import publish_diagnosis, publish_lesson
from consumers.refusals import Refusals
from consumers.tally import Tally
from consumers.teaching import Teacher
from mentor_stream import plugins, releases, telemetry, topics
from mentor_stream.complaints import Complaints
from mentor_stream.component import Component
from mentor_stream.config import Config
from mentor_stream.metrics.catalogue.mentor import REQUESTS
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.process import work
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig
from mentor_stream.stream import Delivery, Stream, opened
from mentor_stream.topics import TopicsConfig
from schemas import Diagnosis, Group, Outcome, PolicyRelease, Query

REPORT_SECONDS = 1.0
PASSED_OVER_AT_ONCE = 64
"""Cases that no guide sees and that are being recorded: reading waits when there are more."""
MOST_WAITING_BYTES = 256 * 2**20
"""Of the cases that wait; what it is that max_backlog bounds when completions are very long."""

GRACE_SECONDS = 2.0
"""For the diagnosis of a lesson that is on its way when the mentor is asked to stop."""

log = logging.getLogger(__name__)


class Mentor:
    """One mentor process at work."""

    def __init__(self, config: MentorConfig, stream: Stream, teacher: Teacher) -> None:
        self._config, self._stream, self._teacher = config, stream, teacher
        self._waiting: Line[Delivery[Group]] | Backlog[Delivery[Group]]
        if config.max_backlog == "unlimited":
            self._waiting, self._prefetch = Line(), 2 * config.concurrency
        else:
            self._waiting = Backlog(config.max_backlog, MOST_WAITING_BYTES)
            self._prefetch = config.concurrency + config.max_backlog + PASSED_OVER_AT_ONCE
        self._arrived = anyio.Event()
        self._slots = anyio.Semaphore(config.concurrency)
        self._passed_over = anyio.Semaphore(PASSED_OVER_AT_ONCE)
        self._version = 0  # what a run starts from, before any release
        self._tally = Tally()
        self._complaints, self._refusals = Complaints(), Refusals()
        self._grace = Grace(GRACE_SECONDS)

    async def run(self) -> None:
        """Work until cancelled."""
        async with (
            telemetry.last(self._stream, self._at_rest, lambda: self._version),
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(releases.follow, self._stream, self._take)
            tasks.start_soon(self._report)
            tasks.start_soon(self._grace.watch)
            tasks.start_soon(telemetry.watch, self._stream, topics.COLLAPSED)
            async with (
                self._stream.consumer(topics.COLLAPSED, prefetch=self._prefetch) as cases,
                anyio.create_task_group() as work,
            ):
                work.start_soon(self._read, cases, work)
                await self._work(work)

    def _take(self, release: PolicyRelease) -> None:
        self._version = release.policy_version

    async def _read(self, cases: AsyncIterator[Delivery[Group]], work: TaskGroup) -> None:
        """Let what arrives wait for its turn, and record what will have none."""
        async for case in cases:
            action = self._decided(case.record)
            passed = self._waiting.add(case) if action is Action.TEACH else [Passed(case, action)]
            self._arrived.set()
            for other in passed:
                await self._passed_over.acquire()
                work.start_soon(self._pass_over, other)

    async def _pass_over(self, passed: Passed[Delivery[Group]]) -> None:
        if passed.action is not None:
            group = passed.case.record
            lesson = casework.untaught(group, passed.action, self._version)
            await self._record(group, lesson, None, 0.0)
        passed.case.done()
        self._passed_over.release()

    async def _work(self, work: TaskGroup) -> None:
        while True:
            await self._slots.acquire()  # before a case is taken: until then a newer one may come first
            while (case := self._waiting.take()) is None:
                self._arrived = anyio.Event()
                await self._arrived.wait()
            work.start_soon(self._deal_with, case)

    async def _deal_with(self, case: Delivery[Group]) -> None:
        """Publish what comes of a case, then release it: a crash in between repeats it under the same ids."""
        group, began = case.record, time.perf_counter()
        lesson = await self._lesson(group)
        with self._grace.block():
            lesson, guided = await publish_lesson(self._stream, self._teacher.guide.name, group, lesson)
            await self._record(group, lesson, guided, time.perf_counter() - began)
            case.done()
        self._slots.release()

    async def _record(self, group: Group, lesson: Lesson, guided: Query | None, seconds: float) -> None:
        name = self._teacher.guide.name
        record = await publish_diagnosis(self._stream, name, group, lesson, guided, seconds)
        self._tally.count(record)
        self._complain(record)

    def _complain(self, record: Diagnosis) -> None:
        """Trouble that costs lessons is told in the log: otherwise it would be in the diagnoses only."""
        if record.outcome is not Outcome.HINT and any(call.error for call in record.calls):
            said = self._complaints.hear(f"{record.outcome.value}: {record.reason}", time.monotonic())
            if said:
                log.warning("a case ended without the guide's hint: %s", said)
        refusals = self._refusals.hear(record)
        if refusals and (said := self._complaints.hear(refusals, time.monotonic())):
            log.warning("most drafts are refused: %s", said)

    def _decided(self, group: Group) -> Action:
        config = self._config
        age = None if config.max_case_age == "unlimited" else config.max_case_age
        return casework.decide(group, version=self._version, max_case_age=age, max_rounds=config.max_rounds)

    async def _lesson(self, group: Group) -> Lesson:
        action = self._decided(group)  # again: it may have become stale while it waited
        if action is not Action.TEACH:
            return casework.untaught(group, action, self._version)
        with self._tally.working():
            return await self._teacher.lesson(group)

    async def _report(self) -> None:
        while True:
            await telemetry.offer(self._stream, self._values(), policy_version=self._version)
            await anyio.sleep(REPORT_SECONDS)

    def _values(self) -> dict[str, float]:
        requests = {result: count for (result,), count in READINGS.values(REQUESTS).items()}
        return self._tally.values() | requests | {"waiting": len(self._waiting)}

    def _at_rest(self) -> dict[str, float]:
        return self._values() | {"in_flight": 0, "waiting": 0}


async def _main(config: Config) -> None:
    section = config.of(MentorConfig)
    guide = plugins.build(GUIDES, section.guide, "mentor.guide")
    if guide is None:
        sys.stderr.write(f"mentor: the guide {section.guide['kind']} teaches nothing\n")
        return
    room = budget(config)
    async with guarding(section.leak_guard) as guard, opened(config, "mentor") as stream:
        await spending.resume(stream, guide)
        await Mentor(section, stream, Teacher(guide, guard, room)).run()


def _check(config: Config) -> Iterable[str]:
    return plugins.check(GUIDES, config.of(MentorConfig).guide, "mentor.guide")


component = Component(
    name="mentor",
    sections=(MentorConfig, PromptConfig, RolloutConfig, TopicsConfig),
    run=partial(work, "mentor", _main),
    check=_check,
)
