"""When a component that died is started again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.restarts import restart_delay

CONFIG = SupervisorConfig(restarts=4, restart_window_seconds=100, backoff_seconds=1, backoff_max_seconds=5)
times = st.lists(st.floats(0, 1e6), min_size=1, max_size=50).map(sorted)


def test_each_death_within_the_window_doubles_the_wait_up_to_its_bound() -> None:
    deaths = [10.0, 20.0, 30.0, 40.0]
    waits = [restart_delay(deaths[: n + 1], CONFIG, jitter=0) for n in range(4)]
    assert waits == [1.0, 2.0, 4.0, 5.0]


def test_one_death_more_than_the_allowed_restarts_gives_up() -> None:
    assert restart_delay([1.0, 2.0, 3.0, 4.0, 5.0], CONFIG, jitter=0) is None


def test_a_death_longer_ago_than_the_window_is_forgiven() -> None:
    assert restart_delay([1.0, 2.0, 3.0, 4.0, 101.0], CONFIG, jitter=0) == 5.0
    assert restart_delay([1.0, 2.0, 3.0, 4.0, 500.0], CONFIG, jitter=0) == 1.0


def test_without_restarts_the_first_death_gives_up() -> None:
    assert restart_delay([1.0], SupervisorConfig(restarts=0), jitter=0) is None


def test_however_many_restarts_are_allowed_the_wait_stays_bounded() -> None:
    patient = SupervisorConfig(restarts=5000, backoff_max_seconds=30)
    assert restart_delay([1.0] * 5000, patient, jitter=0) == 30


@given(deaths=times, jitter=st.floats(0, 1, exclude_max=True))
def test_jitter_takes_away_at_most_half_of_the_wait(deaths: list[float], jitter: float) -> None:
    full, shortened = restart_delay(deaths, CONFIG, jitter=0), restart_delay(deaths, CONFIG, jitter=jitter)
    if full is None:
        assert shortened is None
    else:
        assert shortened is not None
        assert full / 2 <= shortened <= full <= CONFIG.backoff_max_seconds


@pytest.mark.parametrize("setting", ["restarts", "grace_seconds", "rollout_workers", "view_seconds"])
def test_settings_that_make_no_sense_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=setting):
        SupervisorConfig.model_validate({setting: -1})
