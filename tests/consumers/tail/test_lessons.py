"""Hints put together with what they answer and what came of them, in whatever order it is read."""

from collections.abc import Sequence
from math import inf

from hypothesis import given
from hypothesis import strategies as st

import schemas
from consumers.following import Event
from consumers.tail import lessons
from consumers.tail.lessons import PATIENCE, Lesson, Lessons, Result
from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from schemas import Diagnosis, Outcome, Query, Record
from tests.builders import a_group, a_guided_query, a_query


def an_event(record: Record, time: float = 1.0) -> Event:
    return Event(topics.GUIDED, TopicPartition("run.guided", 0), 0, time, record)


def a_lesson(number: int) -> Query:
    return a_guided_query(a_query(position=number), hint=f"hint {number}")


def its_diagnosis(query: Query) -> Diagnosis:
    assert query.hint
    return Diagnosis(
        group_id=query.hint.group_id, query_id="plain", guide="scripted", round=1, outcome=Outcome.HINT,
        reason="passed", hint=query.hint, guided_query_id=query.query_id, policy_version=0,
    )  # fmt: skip


def its_group(query: Query, verdicts: str = "RWUA") -> schemas.Group:
    return a_group(verdicts, query=query)


def taken(records: Sequence[Record]) -> list[Lesson | Result]:
    """What is told when all of them have been read."""
    known = Lessons()
    for record in records:
        known.take(an_event(record))
    return known.ready(inf)


QUERIES = [a_lesson(number) for number in range(3)]
RECORDS = [record for query in QUERIES for record in (query, its_diagnosis(query), its_group(query))]


@given(st.permutations(RECORDS), st.lists(st.sampled_from(RECORDS), max_size=4), st.data())
def test_each_lesson_is_told_once_with_all_that_came_of_it_whatever_the_order(
    records: list[Record], repeated: list[Record], data: st.DataObject
):
    known, found = Lessons(), list[Lesson | Result]()
    for record in records:
        known.take(an_event(record))
        if data.draw(st.booleans()):
            found += known.ready(1.0)
    for record in repeated:
        known.take(an_event(record))
    found += known.ready(inf)
    told = [one for one in found if isinstance(one, Lesson)]
    assert sorted(one.query.query_id for one in told) == sorted(query.query_id for query in QUERIES)
    assert all(one.diagnosis for one in told)
    for query in QUERIES:
        of_it = [isinstance(one, Result) for one in found if one.query.query_id == query.query_id]
        assert of_it[0] is False
        assert any(of_it), "its result is told, behind it"


def test_a_lesson_waits_for_its_diagnosis_and_its_result_counts_what_was_judged():
    (query, *_) = QUERIES
    known = Lessons()
    known.take(an_event(query, time=5.0))
    assert known.ready(5.0) == []
    known.take(an_event(its_diagnosis(query), time=5.1))
    assert known.ready(5.1) == [Lesson(5.0, query, its_diagnosis(query))]
    known.take(an_event(its_group(query), time=7.0))
    assert known.ready(7.0) == [Result(7.0, query, 1, 2, 4)]


def test_a_lesson_whose_diagnosis_does_not_come_is_told_without_it():
    (query, *_) = QUERIES
    known = Lessons()
    known.take(an_event(query, time=5.0))
    known.take(an_event(its_group(query), time=7.0))
    assert known.ready(5.0 + PATIENCE) == []
    assert known.ready(5.1 + PATIENCE) == [Lesson(5.0, query, None), Result(7.0, query, 1, 2, 4)]


def test_what_was_there_is_told_in_the_order_of_time():
    known = Lessons()
    for number, time in enumerate([3.0, 1.0, 2.0]):
        known.take(an_event(a_lesson(number), time=time))
    assert [one.time for one in known.ready(inf)] == [1.0, 2.0, 3.0]


def test_plain_groups_and_cases_without_a_hint_are_no_lessons():
    silent = Diagnosis(
        group_id="g", query_id="q", guide="none", round=1, outcome=Outcome.SILENT, reason="", policy_version=0
    )
    assert taken([a_query(), a_group("WWWW"), silent]) == []


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(lessons, "REMEMBERED", 10)
    known = Lessons()
    for number in range(50):
        known.take(an_event(a_lesson(number)))
        known.take(an_event(its_diagnosis(a_lesson(1000 + number))))
        known.take(an_event(its_group(a_lesson(2000 + number))))
    assert len(known.ready(inf)) == 10
