"""From a collapsed group to what may be published of it: the guide at work, and what is checked after it."""

import logging
from dataclasses import dataclass
from functools import partial
from traceback import format_exception_only

from consumers import casework
from consumers.budget import Budget
from consumers.chat.templates import printable
from consumers.guides.base import Case, Guide, Lesson
from consumers.leak.guard import Guard
from consumers.returned import Unusable, read
from mentor_stream.disk import Unwritable
from schemas import Group, Outcome

MAX_REASON = 2000
"""Characters kept of what a guide raised."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Teacher:
    """A guide, and the two checks that hold whatever the guide thinks of its hint."""

    guide: Guide
    guard: Guard
    budget: Budget

    async def lesson(self, group: Group) -> Lesson:
        """The guide's lesson, without its hint when that must not be published. Raises nothing of
        the guide's, but Unwritable where its replies cannot be kept."""
        case = Case(
            group=group,
            round=casework.guidance_round(group.query),
            earlier=casework.earlier_hints(group.query),
            fits=partial(self.budget.fits, group),
            leak=partial(self.guard.leak, group.query),
        )
        return await self._inspected(case, await self._taught(case))

    async def _taught(self, case: Case) -> Lesson:
        """One that raises, or returns no lesson, costs its own case the lesson, and the diagnosis says so."""
        try:
            return read(await self.guide.teach(case))
        except Unwritable:  # of a folder for replies: no guide's failure
            raise
        except Unusable as unusable:
            log.exception("guide %s returned no lesson for group %s", self.guide.name, case.group.group_id)
            return Lesson(Outcome.SILENT, f"the guide returned {unusable}"[:MAX_REASON])
        except Exception as error:
            log.exception("guide %s failed on group %s", self.guide.name, case.group.group_id)
            said = printable("".join(format_exception_only(error)).strip())
            return Lesson(Outcome.SILENT, f"the guide raised {said}"[:MAX_REASON])

    async def _inspected(self, case: Case, lesson: Lesson) -> Lesson:
        if lesson.hint is None:
            return lesson
        if leak := await case.leak(lesson.hint):
            return Lesson(Outcome.SILENT, leak, None, lesson.calls)
        if not case.fits(lesson.hint):
            return Lesson(Outcome.SILENT, "the hint exceeds the prompt budget", None, lesson.calls)
        return lesson
