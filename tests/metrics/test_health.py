"""Alive: what must turn turns. Ready: what is needed is there."""

from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.metrics.health import Health


def test_a_loop_is_stuck_once_it_has_not_turned_for_longer_than_it_may() -> None:
    health = Health()
    health.watch("loop", within=10, now=0)
    assert health.stuck(now=10) == []
    assert health.stuck(now=11) == ["loop has not turned for 11 s; 10 s are allowed"]
    health.turns("loop", now=11)
    assert health.stuck(now=21) == []


@given(st.lists(st.integers(min_value=0, max_value=10), min_size=1))
def test_a_loop_that_turns_in_time_is_never_stuck(pauses: list[int]) -> None:
    health, now = Health(), 0
    health.watch("loop", within=10, now=now)
    for pause in pauses:
        now += pause
        assert health.stuck(now=now) == []
        health.turns("loop", now=now)


def test_what_is_over_is_not_stuck() -> None:
    health = Health()
    health.watch("loop", within=10, now=0)
    health.rests("loop")
    assert health.stuck(now=1e9) == []


def test_what_nobody_watches_is_never_stuck() -> None:
    health = Health()
    health.turns("stranger", now=0)
    assert health.stuck(now=1e9) == []


def test_a_process_is_ready_once_it_has_all_it_needs() -> None:
    health = Health()
    health.needs("the broker")
    health.needs("a policy")
    assert health.lacking(now=0) == ["the broker: not yet", "a policy: not yet"]
    health.has("the broker", within=20, now=0)
    health.has("a policy", now=0)
    assert health.lacking(now=20) == []


def test_a_broker_that_is_silent_or_away_makes_it_unready_and_not_dead() -> None:
    health = Health()
    health.has("the broker", within=20, now=0)
    assert health.lacking(now=25) == ["the broker: nothing heard for 25 s"]
    health.lacks("the broker", "run.broker does not answer", now=30)
    assert health.lacking(now=30) == ["the broker: run.broker does not answer"]
    assert health.stuck(now=1e9) == []
    health.has("the broker", within=20, now=31)
    assert health.lacking(now=31) == []


def test_what_is_there_already_is_not_taken_away_by_needing_it() -> None:
    health = Health()
    health.has("a policy", now=0)
    health.needs("a policy")
    assert health.lacking(now=1) == []
