"""Where each question's records stand."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.following import Event
from consumers.monitor import index
from consumers.monitor.index import Index, Place, question_key
from mentor_stream.broker import TopicPartition
from mentor_stream.topics import Topic
from schemas import Query, Record
from tests.builders import a_query
from tests.consumers.monitor.served import a_lesson


def an_event(topic: Topic, record: Record, offset: int, time: float = 1.0) -> Event:
    return Event(topic, TopicPartition(topic.of("run"), 0), offset, time, record)


EVENTS = [
    an_event(topic, record, 4 * number + place)
    for number in range(3)
    for place, (topic, record) in enumerate(a_lesson(number))
]


@given(st.permutations(EVENTS), st.lists(st.sampled_from(EVENTS)))
def test_a_question_leads_to_all_its_records_and_to_no_others_whatever_the_order(events, repeated):
    known = Index()
    for event in [*events, *repeated]:
        known.take(event)
    for number in range(3):
        key = question_key(a_query(f"What is {number} + 1?", f"{number + 1}"))
        wanted = {Place(e.topic.name, 0, e.offset) for e in EVENTS[4 * number : 4 * number + 4]}
        assert set(known.about(key)) == wanted
    assert len(known) == 12
    assert known.since is None


def test_what_is_known_longest_is_forgotten_and_that_is_told(monkeypatch):
    monkeypatch.setattr(index, "PLACES", 20)
    known = Index()
    for number in range(30):
        for place, (topic, record) in enumerate(a_lesson(number)):
            known.take(an_event(topic, record, 4 * number + place, float(number)))
    assert len(known) <= 20
    assert not known.about(question_key(a_query("What is 0 + 1?", "1")))
    assert len(known.about(question_key(a_query("What is 29 + 1?", "30")))) == 4
    assert known.since is not None
    assert 20 <= known.since < 29


def test_of_a_question_without_end_the_newest_records_are_known(monkeypatch):
    monkeypatch.setattr(index, "MOST", 5)
    known, (guided,) = Index(), [record for _, record in a_lesson(1) if isinstance(record, Query)]
    for offset in range(50):
        known.take(an_event(a_lesson(1)[1][0], guided, offset))
    assert [place.offset for place in known.about(question_key(guided))] == [45, 46, 47, 48, 49]
    assert len(known) == 5
