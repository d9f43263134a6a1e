"""The leak guard as tests ask it: one hint at a time, formulas compared in this process."""

from collections.abc import Sequence

import anyio
import msgspec

from consumers.leak.guard import Guard, GuardMode, comparison
from tests.builders import a_query
from tests.consumers.leak_table import Row

_first_equal = comparison(None)


class Here:
    """A pool of workers that is this process."""

    async def call(self, case: tuple[str, Sequence[str]]) -> str | None:
        reference, expressions = case
        return _first_equal((reference, list(expressions)))


def found(row: Row, mode: GuardMode = "auto") -> str | None:
    """What the guard has against a row's hint."""
    query = msgspec.structs.replace(a_query(row.question, row.reference), solution=row.solution or None)
    return anyio.run(Guard(mode, Here()).leak, query, row.hint, backend="trio")
