from hypothesis import given, settings
from hypothesis import strategies as st

from producers.progress import TAIL, WINDOW, progress


def test_an_empty_stream_begins_at_the_first_question() -> None:
    assert progress([]) == ([], 0)


def test_gaps_of_the_last_window_come_first() -> None:
    assert progress([0, 1, 3, 4, 6, 6]) == ([2, 5], 7)


def test_nothing_before_the_last_window_is_asked_for_again() -> None:
    assert progress([1000]).gaps == list(range(1001 - WINDOW, 1000))


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_every_position_is_fed_exactly_once_however_often_the_feeder_dies(data: st.DataObject) -> None:
    """Partitions in miniature: each sending reaches any subset of them, in any order, before a crash."""
    partitions: list[list[int]] = [[] for _ in range(data.draw(st.integers(1, 4)))]
    place = data.draw(st.integers(0, 10**6))
    for _ in range(data.draw(st.integers(1, 5))):
        gaps, start = progress([p for partition in partitions for p in partition[-TAIL:]])
        for batch in range(data.draw(st.integers(0, 4))):
            sent = gaps if batch == 0 else list(range(start, start + data.draw(st.integers(1, WINDOW))))
            sent = data.draw(st.permutations(sent))
            crashed = data.draw(st.booleans())
            for position in sent[: data.draw(st.integers(0, len(sent)))] if crashed else sent:
                partitions[hash((place, position)) % len(partitions)].append(position)
            if crashed:
                break
            start += len(sent) if batch > 0 else 0
    gaps, end = progress([p for partition in partitions for p in partition[-TAIL:]])
    fed = sorted([p for partition in partitions for p in partition] + gaps)
    assert fed == list(range(end))
