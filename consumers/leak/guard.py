"""The leak guard at work: decision.py decides, a worker process compares formulas."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from consumers.leak.decision import find_leak, find_text
from mentor_stream import workers
from schemas import Query

GuardMode = Literal["math", "text", "off"]

SECONDS = 10.0
"""For all formulas of one hint."""
MEGABYTES = 2048


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
            return find_text(hint, query.question, query.reference)
        try:
            return await find_leak(hint, query.question, query.reference, self._find_equal)
        except workers.WorkerError as error:
            return f"the hint could not be searched for the answer: {error}"

    async def _find_equal(self, reference: str, expressions: Sequence[str]) -> str | None:
        assert self.pool is not None
        return await self.pool.call([reference, list(expressions)])


@asynccontextmanager
async def guarding(mode: GuardMode) -> AsyncGenerator[Guard]:
    """A guard and, where it needs one, its worker. Raises WorkerDied when that cannot start."""
    if mode != "math":
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
