"""Which failures are repeated, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.retries import LONGEST_PAUSE, Failure, Kind, backoff, kind_of, retry_after


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((500, 502, 503, 504, 529, 408, 429, 409, 425), Kind.DOWN),
        ((401, 402, 403, 404), Kind.CLOSED),
        ((400, 405, 413, 422), Kind.REQUEST),
    ],
)
def test_a_status_says_who_is_to_blame(statuses: tuple[int, ...], kind: Kind) -> None:
    assert {kind_of(status) for status in statuses} == {kind}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        (None, None),
    ],
)
def test_a_retry_after_is_seconds_or_nothing(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_a_long_pause_asked_for_and_a_closed_door_are_enough_to_rest() -> None:
    assert Failure("slow down", Kind.DOWN, 2.0).rest is None
    assert Failure("slow down", Kind.DOWN, 60.0).rest == 60.0
    assert Failure("come back next year", Kind.DOWN, 3e7).rest == 3600.0
    assert Failure("status 401", Kind.CLOSED).rest == 0.0
    assert Failure("status 500", Kind.DOWN).rest is None


@given(st.floats(0, 100), st.integers(1, 10**6), st.floats(0, 1))
def test_pauses_grow_within_bounds(first: float, rounds: int, jitter: float) -> None:
    pause = backoff(first, rounds, jitter)
    assert 0 <= pause <= 1.5 * LONGEST_PAUSE
    assert backoff(first, rounds + 1, jitter) >= pause


def test_pauses_double_and_vary_by_half() -> None:
    assert [backoff(1.0, rounds, 0.5) for rounds in (1, 2, 3, 4, 9)] == [1, 2, 4, 8, 30]
    assert (backoff(2.0, 1, 0.0), backoff(2.0, 1, 1.0)) == (1.0, 3.0)
