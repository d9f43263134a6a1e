"""What the metrics of a run add up to."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from mentor_stream.metrics.rates import FRESH_SECONDS
from mentor_stream.supervisor.figures import KEPT_POINTS, Figures, observe

EMPTY = Figures(run="test", batch_groups=32, max_tokens=1000)


def a_metric(
    component: str, time: float = 0.0, instance: str = "host:1", version: int | None = None, **values: float
) -> schemas.Metric:
    return schemas.Metric(
        component=component, instance=instance, time=time, policy_version=version, values=values
    )


def a_step(version: int, time: float = 0.0, **values: float) -> schemas.Metric:
    return a_metric("trainer", time=time, version=version, **values)


def seen(*metrics: schemas.Metric, start: Figures = EMPTY) -> Figures:
    return reduce(observe, metrics, start)


def test_the_latest_value_of_everything_is_kept_when_a_later_step_leaves_it_out() -> None:
    state = seen(a_step(1, reward=0.1, rescue_rate=0.5), a_step(2, reward=0.2))
    assert state.latest == {"reward": 0.2, "rescue_rate": 0.5}
    assert state.version == 2
    assert state.curve("reward") == [0.1, 0.2]
    assert state.curve("rescue_rate") == [0.5]


def test_a_trainer_that_resumes_from_its_checkpoint_replaces_the_versions_it_repeats() -> None:
    first = [a_step(version, reward=0.1 * version) for version in (1, 2, 3)]
    assert seen(*first, a_step(2, reward=0.9)).curve("reward") == [0.1, 0.9]


def test_held_out_accuracies_are_ordered_by_version_and_the_first_one_is_never_forgotten() -> None:
    later = [a_metric("evaluator", version=v, heldout_accuracy=0.5) for v in range(1, 3 * KEPT_POINTS)]
    state = seen(*later, a_metric("evaluator", version=0, heldout_accuracy=0.0))
    assert state.accuracies[0].policy_version == 0
    assert state.accuracies[-1].policy_version == 3 * KEPT_POINTS - 1
    assert len(state.accuracies) <= KEPT_POINTS + 1


def test_a_version_evaluated_again_counts_once() -> None:
    state = seen(*(a_metric("evaluator", version=4, heldout_accuracy=a) for a in (0.1, 0.2)))
    assert [a.accuracy for a in state.accuracies] == [0.2]


def test_totals_include_the_processes_that_died_and_rates_do_not() -> None:
    state = seen(
        a_metric("rollout", time=0, instance="a", tokens_per_second=100, groups=7),
        a_metric("rollout", time=50, instance="b", tokens_per_second=30, groups=2),
        a_metric("rollout", time=51, instance="c", tokens_per_second=20, groups=1),
    )
    assert state.total("rollout", "groups") == 10
    assert state.rate("rollout", "tokens_per_second", now=51 + FRESH_SECONDS / 2) == 50


def test_progress_is_that_of_the_limit_that_will_be_reached_first() -> None:
    both = Figures(run="test", batch_groups=1, max_tokens=1000, max_versions=10)
    step = a_step(6, generated_tokens=200)
    assert seen(step, start=both).progress() == pytest.approx(0.6)
    assert seen(step).progress() == pytest.approx(0.2)
    assert seen(step, start=Figures(run="test", batch_groups=1)).progress() is None


def test_the_time_left_follows_from_the_pace_of_the_last_minutes() -> None:
    slow = [a_step(t, time=t, generated_tokens=t / 100) for t in range(1, 100)]
    fast = [a_step(100 + t, time=1000 + t, generated_tokens=100 + 10 * t) for t in range(11)]
    assert seen(*slow, *fast).seconds_left(now=1010) == pytest.approx(80)
    assert seen(*slow, *fast).seconds_left(now=1020) == pytest.approx(160), "what it waits counts"
    assert seen(*slow, *fast).seconds_left(now=9999) is None


def test_no_time_left_is_guessed_before_there_are_two_versions() -> None:
    assert EMPTY.seconds_left(now=1) is None
    assert seen(a_step(1, generated_tokens=5)).seconds_left(now=1) is None


def test_what_a_trainer_tells_between_steps_counts_from_the_start() -> None:
    told = a_metric("trainer", time=9, generated_tokens=430, pending_groups=3, waiting_seconds=70)
    waiting = seen(told)
    assert (waiting.tokens, waiting.progress(), waiting.waiting(now=10)) == (430, 0.43, 70)
    assert waiting.latest["pending_groups"] == 3
    assert waiting.waiting(now=10 + FRESH_SECONDS) is None
    assert waiting.idle(now=10) == 1.0
    after = seen(told, a_step(1, time=10, generated_tokens=400, wait_seconds=75, step_seconds=25))
    assert (after.tokens, after.waiting(now=11), after.idle(now=11)) == (430, None, 0.75)
    resumed = a_metric("trainer", time=20, instance="host:2", generated_tokens=300)
    assert seen(resumed, start=after).tokens == 300


def test_a_rescue_rate_is_that_of_the_last_lessons_and_none_where_none_come() -> None:
    steps = [
        a_step(
            version, guided_groups=40 * min(version, 10), rescued_groups=30 * min(version, 9), rescue_rate=0
        )
        for version in range(1, 11)
    ]
    assert seen(*steps[:2]).rescue_rate == 0.75
    assert seen(*steps).rescue_rate == pytest.approx(60 / 120)
    none = [a_step(v, guided_groups=400, rescued_groups=270) for v in range(11, 11 + KEPT_POINTS)]
    assert seen(*steps, *none).rescue_rate is None
    assert EMPTY.rescue_rate is None
    assert seen(a_step(1, rescue_rate=0.5), a_step(2, rescue_rate=0.0)).rescue_rate == 0.25


def test_an_endpoint_fails_from_the_first_request_without_an_answer_to_the_next_with_one() -> None:
    down = [a_metric("mentor", time=t, answered=4, down=d) for t, d in ((1, 0), (5, 1), (9, 7), (12, 7))]
    assert seen(*down[:1]).unanswered(now=2) is None
    assert seen(*down).unanswered(now=13) == 8
    assert seen(*down, a_metric("mentor", time=13, answered=5, down=9)).unanswered(now=14) is None
    assert seen(*down).unanswered(now=500) is None


@given(versions=st.lists(st.integers(0, 300), max_size=400))
def test_kept_versions_always_rise_and_stay_bounded(versions: list[int]) -> None:
    kept = [step.version for step in seen(*map(a_step, versions)).steps]
    assert kept == sorted(set(kept))
    assert len(kept) <= KEPT_POINTS
    assert kept[-1:] == versions[-1:]
