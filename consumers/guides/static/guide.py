"""The guide: a question's prepared levels, one further each round."""

from dataclasses import dataclass
from typing import NamedTuple

import anyio.to_thread

from consumers.calls import Calls
from consumers.guides.base import Case, Lesson
from consumers.guides.static.levels import beginning, within
from consumers.guides.static.library import Library, LibraryError
from schemas import Outcome, Query

PARTIAL = "A correct solution begins like this; go on from there:\n"


class Prepared(NamedTuple):
    """Levels for one question, and where they are from."""

    source: str
    levels: tuple[str, ...]
    outcome: Outcome = Outcome.HINT


@dataclass(frozen=True)
class Static:
    """Hints that somebody prepared."""

    name: str
    library: Library | None
    shares: tuple[float, ...]
    general: tuple[str, ...]
    first_level: int

    async def teach(self, case: Case) -> Lesson:
        """The round's level, or the most concrete one below it that leaks nothing and fits; else silence."""
        try:
            source, levels, outcome = await self._prepared(case.query)
        except LibraryError as error:
            return Lesson(Outcome.SILENT, str(error))
        calls, said = Calls(), [source]
        for level, text in within(levels, self.first_level + case.round - 1, case.earlier):
            calls.draft = level - 1
            objection = await calls.leak(case, text) or calls.excess(case, text)
            if objection is None:
                said.append(f"level {level} of {len(levels)}")
                return Lesson(outcome, "; ".join(said), text, tuple(calls.made))
            said.append(f"not level {level}: {objection}")
        if levels and not calls.made:
            said.append("no level is left")
        return Lesson(Outcome.SILENT, "; ".join(said), None, tuple(calls.made))

    async def _prepared(self, query: Query) -> Prepared:
        """The library's levels, else the solution's, else the general ones. Raises LibraryError."""
        missing = list[str]()
        if self.library:
            key = query.question if self.library.key == "question" else query.extra.get(self.library.key)
            if key is None:
                missing.append(f"the question has no column {self.library.key!r}: data.extra must list it")
            elif hints := await anyio.to_thread.run_sync(self.library.hints, key):
                return Prepared("library", hints)
            else:
                missing.append("the library has no entry")
        if self.shares and query.solution:
            parts = [beginning(query.solution, share) for share in self.shares]
            return Prepared("worked solution", tuple(PARTIAL + part if part else "" for part in parts))
        if self.shares:
            missing.append("the question has no worked solution: data.solution names its column")
        source = "; ".join([*missing, "general hints" if self.general else "no general hints"])
        return Prepared(source, self.general, Outcome.FALLBACK)
