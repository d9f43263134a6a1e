"""A curve in bounded memory: what is kept of it, and what a reader gets to hear."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from consumers.monitor import curve
from consumers.monitor.curve import Curve, Point

FINITE = st.floats(-1e300, 1e300)
STEPS = st.lists(st.one_of(st.tuples(st.just("add"), FINITE), st.tuples(st.just("undo"), st.integers(0, 60))))


def small(kept: int = 4):
    return patch.multiple(curve, RECENT=kept, COARSE=kept)


@given(st.lists(FINITE, max_size=300))
def test_all_that_was_measured_is_in_the_curve_however_short_it_is_kept(values: list[float]):
    with small():
        known = Curve()
        for mark, value in enumerate(values, 1):
            known.add(mark, float(mark), value, mark)
        points = list(known)
    assert len(points) <= 8
    assert sum(point.samples for point in points) == len(values)
    assert [p.value for p in points[-4:]] == values[-4:], "the newest stand as they were measured"
    begun = 0
    for point in points:
        stretch = values[begun : begun + point.samples]
        assert (point.low, point.high) == (min(stretch), max(stretch))
        assert point.low <= point.value <= point.high
        assert point.version == begun + point.samples
        begun += point.samples


@given(STEPS, st.data())
def test_a_reader_who_asks_now_and_then_has_what_one_has_who_asks_once(steps, data):
    with small():
        known, read, seen, version = Curve(), list[Point](), 0, 0
        for mark, (what, value) in enumerate(steps, 1):
            if what == "add":
                known.add(mark, float(mark), value, version)
                version += 1
            else:
                version = min(version, value)
                known.undo(version, mark)
            if data.draw(st.booleans()):
                told = known.since(seen)
                read = [*([] if told.whole else read), *told.points]
                seen = mark
                assert sorted(read) == sorted(set(read))
                assert read[-4:] == list(known)[-4:]
                assert sum(point.samples for point in read) == sum(point.samples for point in known)


def test_versions_that_are_trained_again_replace_what_they_undo():
    known = Curve()
    for version in range(10):
        known.add(version + 1, float(version), 1.0, version)
    known.undo(7, 11)
    known.add(11, 20.0, 5.0, 7)
    assert [(p.version, p.value) for p in known][-2:] == [(6, 1.0), (7, 5.0)]
    assert known.since(10).whole
    assert not known.since(11).points


def test_a_value_that_is_measured_again_stands_in_its_place():
    known = Curve()
    for version in range(3):
        known.add(version + 1, float(version), 0.0, version)
    assert known.replace(1, 4, 0.5)
    assert [point.value for point in known] == [0.0, 0.5, 0.0]
    assert known.since(3).whole
    assert not known.replace(9, 5, 0.5)


def test_time_does_not_run_backwards():
    known = Curve()
    known.add(1, 10.0, 0.0)
    known.add(2, 5.0, 1.0)
    assert [point.time for point in known] == [10.0, 10.0]
