"""A run's pace by its metrics."""

from mentor_stream.sizing.measured import Measuring, Pace
from schemas import Metric


def metric(component: str, instance: str = "a", version: int | None = None, **values: float) -> Metric:
    return Metric(component=component, instance=instance, time=0.0, policy_version=version, values=values)


def test_the_pace_is_that_of_all_processes_of_a_run():
    measuring = Measuring()
    for version in range(1, 6):
        measuring.add(metric("trainer", version=version, trained_tokens=500, step_seconds=2, wait_seconds=9))
    for instance in ("a", "b"):
        measuring.add(metric("rollout", instance, tokens_per_second=90, groups=1, tokens=100, collapsed=1))
        measuring.add(metric("rollout", instance, tokens_per_second=30, groups=10, tokens=2000, collapsed=2))
    measuring.add(metric("mentor", "a", seconds_mean=4))
    measuring.add(metric("mentor", "b", cases=0))
    assert measuring.pace(group_size=4, batch_groups=2) == Pace(
        trained_rate=250,
        sampled_rate=90,
        completion_tokens=50,
        teaching=0.5,
        collapsed=0.2,
        case_seconds=4,
    )


def test_that_nothing_collapsed_is_measured_too():
    measuring = Measuring()
    measuring.add(metric("rollout", groups=10, tokens=2000, collapsed=0))
    assert measuring.pace(4, 2).collapsed == 0


def test_numbers_that_cannot_be_are_not_measured():
    measuring = Measuring()
    for size in (1e308, -1e308):
        measuring.add(metric("trainer", version=1, trained_tokens=1e308, step_seconds=1e-308))
        measuring.add(metric("rollout", f"{size}", tokens_per_second=size, groups=1e308, tokens=size))
        measuring.add(metric("mentor", f"{size}", seconds_mean=size))
    assert measuring.pace(4, 2) == Pace()
    measuring = Measuring()
    measuring.add(metric("rollout", groups=10, collapsed=1e308))
    assert measuring.pace(4, 2).collapsed == 1


def test_a_run_that_said_nothing_has_no_pace():
    assert Measuring().pace(8, 32) == Pace()
