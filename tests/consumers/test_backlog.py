"""Who waits, who goes first, and who makes room."""

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.backlog import Backlog, Line, Passed
from consumers.casework import Action
from schemas import Group
from tests.builders import a_group, a_guided_query, a_query


@dataclass(frozen=True)
class Waiting:
    record: Group
    size: int = 1


def a_case(question: int, *, version: int = 0, at: float = 0.0, epoch: int = 0, size: int = 1) -> Waiting:
    asked = msgspec.structs.replace(a_query(f"question {question}", position=question), attempt=epoch)
    group = a_group("WW", query=asked, version=version)
    return Waiting(msgspec.structs.replace(group, sampled_at=at), size)


def a_backlog(most: int = 4, most_bytes: int = 100) -> Backlog[Waiting]:
    return Backlog(most, most_bytes)


def test_the_newest_case_goes_first_whoever_came_first() -> None:
    backlog = a_backlog()
    cases = [a_case(0, version=1), a_case(1, version=3), a_case(2, version=2, at=9), a_case(3, version=2)]
    for case in cases:
        assert backlog.add(case) == []
    assert [backlog.take() for _ in range(5)] == [cases[1], cases[2], cases[3], cases[0], None]


def test_of_cases_of_one_age_the_one_that_came_last_goes_first() -> None:
    backlog, cases = a_backlog(), [a_case(n) for n in range(3)]
    for case in cases:
        backlog.add(case)
    assert [backlog.take() for _ in cases] == cases[::-1]


def test_where_there_is_no_room_the_oldest_goes_even_if_it_has_just_come() -> None:
    backlog = a_backlog(most=2)
    old, middle, new = (a_case(n, version=n) for n in range(3))
    assert backlog.add(middle) == backlog.add(new) == []
    assert backlog.add(old) == [Passed(old, Action.SHED)]
    newest = a_case(9, version=9)
    assert backlog.add(newest) == [Passed(middle, Action.SHED)]


@pytest.mark.parametrize("first", ["old", "new"])
def test_the_newest_case_of_a_question_wins_whichever_comes_first(first: str) -> None:
    backlog = a_backlog()
    old, new = a_case(7, version=1), a_case(7, version=2, epoch=1)
    assert backlog.add(old if first == "old" else new) == []
    assert backlog.add(new if first == "old" else old) == [Passed(old, Action.SUPERSEDED)]
    assert (backlog.take(), backlog.take()) == (new, None)


def test_a_lesson_that_collapsed_takes_the_place_of_its_plain_question() -> None:
    backlog = a_backlog()
    plain = Waiting(a_group("WW", query=a_query()))
    lesson = Waiting(a_group("WW", query=a_guided_query(), version=1))
    backlog.add(plain)
    assert backlog.add(lesson) == [Passed(plain, Action.SUPERSEDED)]


def test_a_case_that_is_delivered_again_takes_its_own_place_and_nothing_is_said_of_it() -> None:
    backlog, case, again = a_backlog(), a_case(1), a_case(1)
    backlog.add(case)
    (passed,) = backlog.add(again)
    assert passed.case is case
    assert passed.action is None
    assert backlog.take() is again
    assert len(backlog) == 0


def test_cases_make_room_by_their_bytes_and_the_largest_may_still_wait_alone() -> None:
    backlog = a_backlog(most_bytes=10)
    small, large = a_case(1, size=4), a_case(2, version=1, size=50)
    backlog.add(small)
    assert backlog.add(large) == [Passed(small, Action.SHED)]
    assert backlog.take() is large
    assert backlog.add(small) == []


@given(
    st.lists(
        st.one_of(
            st.none(), st.tuples(st.integers(0, 6), st.integers(0, 4), st.floats(0, 9), st.integers(0, 5))
        )
    )
)
def test_every_case_waits_or_is_taken_or_passed_exactly_once_and_the_bounds_hold(
    steps: list[tuple[int, int, float, int] | None],
) -> None:
    backlog, came, left = a_backlog(most=3, most_bytes=8), list[Waiting](), list[Waiting]()
    for epoch, step in enumerate(steps):
        if step is None:
            left += [case] if (case := backlog.take()) else []
        else:
            question, version, at, size = step
            came.append(a_case(question, version=version, at=at, epoch=epoch, size=size))
            left += [passed.case for passed in backlog.add(came[-1])]
        waiting = [case for case in came if not any(case is gone for gone in left)]
        assert len(backlog) == len(waiting) <= 3
        assert sum(case.size for case in waiting) <= 8
        assert len({case.record.query.question for case in waiting}) == len(waiting)
        assert len({id(case) for case in left}) == len(left)


def test_a_line_keeps_every_case_in_its_order() -> None:
    line: Line[Waiting] = Line()
    cases = [a_case(0, version=9), a_case(1), a_case(0, version=3)]
    for case in cases:
        assert line.add(case) == []
    assert len(line) == 3
    assert [line.take() for _ in range(4)] == [*cases, None]
