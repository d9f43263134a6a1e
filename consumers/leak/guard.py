"""The leak guard at work: decision.py and code.py decide, a worker process compares formulas."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from anyio import to_thread

from consumers.leak.choices import chosen, right_option
from consumers.leak.code import as_code, find_code_leak
from consumers.leak.decision import find_leak, find_text, prepare
from consumers.leak.steps import repeated
from mentor_stream import workers
from mentor_stream.answers.programs import read_tests
from schemas import Query

GuardMode = Literal["auto", "math", "code", "text", "off"]

SECONDS = 10.0
"""For all formulas of one hint."""
MEGABYTES = 2048
LONG = 5000
"""Characters of question and reference that are read in a thread: other cases go on meanwhile."""


@dataclass(frozen=True)
class Guard:
    """Searches hints for their question's answer."""

    mode: GuardMode
    pool: workers.Pool | None = None

    async def leak(self, query: Query, hint: str) -> str | None:
        """What in a hint must not be published, or None. A hint that cannot be judged must not be."""
        if self.mode == "off":
            return None
        if self.mode == "text":
            await _prepared(query)
            return find_text(hint, query.question, query.reference)
        if self.mode != "math":
            tests = await to_thread.run_sync(read_tests, query.reference)
            if tests or self.mode == "code" or as_code(query.reference):
                case = (hint, query.question, query.reference, tests or (), query.solution)
                return await to_thread.run_sync(find_code_leak, *case)
        try:
            return await self._math(query, hint)
        except workers.WorkerError as error:
            return f"the hint could not be searched for the answer: {error}"

    async def _math(self, query: Query, hint: str) -> str | None:
        """The values first: what they find is the plainest objection."""
        await _prepared(query)
        question, reference = query.question, query.reference
        if found := await find_leak(hint, question, reference, self._find_equal):
            return found
        if run := repeated(hint, question, query.solution or ""):
            return f"the hint repeats the worked solution: {run}"
        option = right_option(question, reference)
        if option is None:
            return None
        if found := chosen(hint, option):
            return f"the hint gives the answer away: {found}"
        other = option.text if option.letter in reference else option.letter
        return await find_leak(hint, question, other, self._find_equal)

    async def _find_equal(self, reference: str, expressions: Sequence[str]) -> str | None:
        assert self.pool is not None
        return await self.pool.call([reference, list(expressions)])


async def _prepared(query: Query) -> None:
    if len(query.question) + len(query.reference) > LONG:
        await to_thread.run_sync(prepare, query.question, query.reference)


@asynccontextmanager
async def guarding(mode: GuardMode) -> AsyncGenerator[Guard]:
    """A guard and, where it needs one, its worker. Raises WorkerDied when that cannot start."""
    if mode not in ("auto", "math"):
        yield Guard(mode)
        return
    async with workers.pool(
        f"{__name__}:comparison", size=1, timeout=SECONDS, memory_megabytes=MEGABYTES
    ) as pool:
        yield Guard(mode, pool)


def comparison(_: Any) -> Callable[[tuple[str, list[str]]], str | None]:
    """The worker's handler: the first of the expressions that equals the reference.

    A reference that is no mathematics equals none: as text it was looked for already.
    """
    import math_verify  # noqa: F401  a missing package is to be known at the start

    from mentor_stream.answers import Unreadable, equivalent

    def first_equal(case: tuple[str, list[str]]) -> str | None:
        reference, expressions = case
        try:
            return next((e for e in expressions if equivalent(reference, e)), None)
        except Unreadable:
            return None

    return first_equal
