"""How many tokens may be spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.allowance import HOUR, Allowance, Spent


def test_without_bounds_everything_may_be_spent() -> None:
    allowance = Allowance()
    allowance.reserve(10**12, 0.0)


def test_what_is_spent_in_an_hour_is_free_again_after_it() -> None:
    allowance = Allowance(per_hour=100)
    allowance.reserve(100, 0.0)
    allowance.settle(100, 80, 0.0)
    with pytest.raises(Spent, match="tokens_per_hour is 100: 80 tokens are spent"):
        allowance.reserve(30, HOUR - 1)
    allowance.reserve(30, HOUR + 1)


def test_what_is_spent_in_a_run_is_gone() -> None:
    allowance = Allowance(per_run=100)
    allowance.reserve(60, 0.0)
    allowance.settle(60, 90, 0.0)
    with pytest.raises(Spent, match="tokens_per_run is 100: 90 tokens are spent"):
        allowance.reserve(11, 100 * HOUR)
    allowance.reserve(10, 100 * HOUR)


def test_requests_in_flight_hold_what_they_may_need() -> None:
    allowance = Allowance(per_run=100)
    allowance.reserve(60, 0.0)
    with pytest.raises(Spent, match="60 reserved"):
        allowance.reserve(60, 0.0)
    allowance.settle(60, 10, 0.0)
    allowance.reserve(60, 0.0)


def test_earlier_processes_of_a_run_count() -> None:
    with pytest.raises(Spent):
        Allowance(per_run=100, spent_so_far=95).reserve(6, 0.0)
    resumed = Allowance(per_run=100)
    resumed.resume(95)
    with pytest.raises(Spent):
        resumed.reserve(6, 0.0)


@given(
    st.integers(1, 1000),
    st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1), st.floats(0, 900)), max_size=200),
)
def test_no_hour_holds_more_than_its_bound_when_replies_keep_theirs(
    bound: int, requests: list[tuple[int, float, float]]
) -> None:
    allowance, now, spent = Allowance(per_hour=bound), 0.0, list[tuple[float, int]]()
    for tokens, share, passed in requests:
        now += passed
        try:
            allowance.reserve(tokens, now)
        except Spent:
            assert sum(t for at, t in spent if at > now - HOUR - 1) + tokens > bound
            continue
        allowance.settle(tokens, int(tokens * share), now)
        spent.append((now, int(tokens * share)))
        assert sum(t for at, t in spent if at > now - HOUR) <= bound


def test_a_steady_stream_of_requests_is_forgotten_an_hour_after_each() -> None:
    allowance = Allowance(per_hour=7200 + 4)
    for step in range(20_000):
        allowance.reserve(1, step / 2)
        allowance.settle(1, 1, step / 2)
