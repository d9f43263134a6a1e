"""What a log says of trouble, and how often."""

from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.complaints import MOST_CAUSES, SAY_AGAIN_SECONDS, Complaints


def test_a_cause_is_said_at_once_and_again_after_a_while_with_how_often_it_came() -> None:
    complaints = Complaints()
    assert complaints.hear("attribution failed: status 401", 0.0) == "attribution failed: status 401"
    assert complaints.hear("attribution failed: status 401", 1.0) is None
    assert complaints.hear("attribution failed: status 401", 2.0) is None
    again = complaints.hear("attribution failed: status 401", SAY_AGAIN_SECONDS)
    assert again == "attribution failed: status 401 (and 2 times more since this was last said)"
    assert complaints.hear("attribution failed: status 401", 3 * SAY_AGAIN_SECONDS) == (
        "attribution failed: status 401"
    )


def test_numbers_make_no_other_cause_and_words_do() -> None:
    complaints = Complaints()
    assert complaints.hear("no reply within 5 s (4 requests)", 0.0)
    assert complaints.hear("no reply within 7 s (2 requests)", 0.0) is None
    assert complaints.hear("the reply is empty", 0.0)


@given(st.lists(st.tuples(st.text(), st.floats(0, 1000)), max_size=300))
def test_whatever_is_heard_is_printable_and_remembered_within_bounds(heard: list[tuple[str, float]]) -> None:
    complaints = Complaints()
    for number, (text, at) in enumerate(heard):
        said = complaints.hear(text + chr(0x4E00 + number), at)
        assert said is None or said.isprintable()
    assert len(complaints._said) <= MOST_CAUSES
    assert complaints._said.keys() == complaints._unsaid.keys()
