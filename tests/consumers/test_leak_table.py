"""The leak guard on labelled hints, those it is known to get wrong too: a mark that is not true fails."""

import pytest

from tests.consumers import leak_code, leak_later, leak_math, leak_table
from tests.consumers.leak_table import Row
from tests.consumers.leaking import found

LEAKS = (*leak_table.LEAKS, *leak_math.LEAKS, *leak_code.LEAKS, *leak_later.LEAKS)
CLEAN = (*leak_table.CLEAN, *leak_math.CLEAN, *leak_code.CLEAN, *leak_later.CLEAN)


def name(row: Row) -> str:
    return row.hint[:60]


@pytest.mark.parametrize("row", [row for row in LEAKS if not row.miss], ids=name)
def test_whatever_gives_the_answer_away_is_a_leak(row: Row) -> None:
    assert found(row)


@pytest.mark.parametrize("row", [row for row in CLEAN if not row.miss], ids=name)
def test_what_does_not_give_the_answer_away_is_no_leak(row: Row) -> None:
    assert found(row) is None


@pytest.mark.parametrize("row", [row for row in LEAKS if row.miss], ids=name)
def test_some_leaks_are_known_to_be_missed(row: Row) -> None:
    assert found(row) is None


@pytest.mark.parametrize("row", [row for row in CLEAN if row.miss], ids=name)
def test_some_honest_hints_are_known_to_be_refused(row: Row) -> None:
    assert found(row)
