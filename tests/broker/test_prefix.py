"""The commit position while messages are finished in any order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentor_stream.broker.prefix import Prefix

offsets = st.lists(st.integers(0, 10**6), min_size=1, max_size=40, unique=True).map(sorted)


@st.composite
def work(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Deliveries in order, each offset done at most once, some time after its delivery."""
    delivered = draw(offsets)
    outstanding: list[int] = []
    steps: list[tuple[str, int]] = []
    while delivered or outstanding:
        if delivered and (not outstanding or draw(st.booleans())):
            outstanding.append(delivered.pop(0))
            steps.append(("delivered", outstanding[-1]))
        elif draw(st.integers(0, 9)):
            steps.append(("done", outstanding.pop(draw(st.integers(0, len(outstanding) - 1)))))
        else:
            break
    return steps


@settings(deadline=None)
@given(work())
def test_the_committable_offset_is_above_everything_done_in_order_and_below_everything_outstanding(steps):
    prefix, delivered, done = Prefix(), set(), set()
    last = None
    for step, offset in steps:
        getattr(prefix, step)(offset)
        (delivered if step == "delivered" else done).add(offset)
        outstanding = delivered - done
        position = prefix.committable()
        assert len(prefix) == len(outstanding)
        if position is None:
            continue
        assert all(offset >= position for offset in outstanding)
        assert {o for o in delivered if o < min(outstanding, default=10**7)} == {
            o for o in delivered if o < position
        }
        assert last is None or position > last
        prefix.committed(position)
        assert prefix.committable() is None
        last = position


@settings(deadline=None)
@given(offsets, st.randoms())
def test_when_all_is_done_the_position_is_behind_the_last_message_whatever_the_order(delivered, random):
    prefix = Prefix()
    for offset in delivered:
        prefix.delivered(offset)
    for offset in random.sample(delivered, len(delivered)):
        assert prefix.done(offset)
    assert prefix.committable() == delivered[-1] + 1
    assert len(prefix) == 0


def test_nothing_is_committable_before_the_first_message_is_done():
    prefix = Prefix()
    assert prefix.committable() is None
    prefix.delivered(7)
    prefix.delivered(9)
    assert prefix.committable() is None
    prefix.done(9)
    assert prefix.committable() is None
    prefix.done(7)
    assert prefix.committable() == 10


def test_done_twice_or_of_an_unknown_message_changes_nothing():
    prefix = Prefix()
    prefix.delivered(1)
    prefix.delivered(2)
    assert prefix.done(1)
    assert not prefix.done(1)
    assert not prefix.done(55)
    assert prefix.committable() == 2


def test_a_message_delivered_out_of_order_is_refused():
    prefix = Prefix()
    prefix.delivered(5)
    with pytest.raises(ValueError, match="offset 5 delivered after 5"):
        prefix.delivered(5)
