"""Hints put together with what they answer and what came of them, in whatever order it is read."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

import schemas
from consumers.following import Event
from consumers.tail import lessons
from consumers.tail.lessons import Lesson, Lessons, Result
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
    known = Lessons()
    found = [one for record in records for one in known.take(an_event(record))]
    return [*found, *known.rest()]


QUERIES = [a_lesson(number) for number in range(3)]
RECORDS = [record for query in QUERIES for record in (query, its_diagnosis(query), its_group(query))]


@given(st.permutations(RECORDS), st.lists(st.sampled_from(RECORDS), max_size=4))
def test_each_lesson_is_told_once_whatever_the_order_and_however_often_a_record_comes(
    records: list[Record], repeated: list[Record]
):
    found = taken([*records, *repeated])
    told = [one.query.query_id for one in found if isinstance(one, Lesson)]
    assert sorted(told) == sorted(query.query_id for query in QUERIES)
    for place, one in enumerate(found):
        if isinstance(one, Result):
            assert any(isinstance(x, Lesson) and x.query == one.query for x in found[:place])


def test_a_lesson_waits_for_its_diagnosis_and_its_result_counts_what_was_judged():
    (query, *_) = QUERIES
    known = Lessons()
    assert known.take(an_event(query, time=5.0)) == []
    assert known.take(an_event(its_diagnosis(query))) == [Lesson(5.0, query, its_diagnosis(query))]
    assert known.take(an_event(its_group(query), time=7.0)) == [Result(7.0, query, 1, 2, 4)]


def test_a_lesson_whose_group_is_there_first_waits_no_longer():
    (query, *_) = QUERIES
    assert taken([query, its_group(query)]) == [Lesson(1.0, query, None), Result(1.0, query, 1, 2, 4)]


def test_a_lesson_without_a_diagnosis_is_told_at_the_end():
    assert taken([QUERIES[0]]) == [Lesson(1.0, QUERIES[0], None)]


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
    assert len(known.rest()) == 10
