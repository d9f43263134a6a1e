"""What each curve takes from the metrics."""

from math import inf, nan

import pytest

from consumers.monitor.health import Health
from consumers.monitor.measures import BY_VERSION, NAMES, PANELS, Measures
from mentor_stream.metrics import catalogue
from schemas import Metric


def a_metric(
    component: str, time: float, version: int | None = None, instance: str = "host:1", **values: float
):
    return Metric(component=component, instance=instance, time=time, policy_version=version, values=values)


def taken(*metrics: Metric) -> dict[str, list[float]]:
    known = Measures()
    for mark, metric in enumerate(metrics, 1):
        known.take(metric, mark, 1.0)
    return {name: [point.value for point in curve] for name, curve in known.curves.items() if curve.last}


def test_every_curve_is_drawn_once():
    assert sorted(NAMES) == sorted(Measures().curves)
    assert len(set(NAMES)) == sum(len(panel.lines) for panel in PANELS)


def test_the_trainer_is_idle_for_the_share_of_its_time_that_it_waited():
    assert taken(a_metric("trainer", 1.0, 0, wait_seconds=3.0, step_seconds=1.0))["trainer_idle"] == [0.75]
    assert "trainer_idle" not in taken(a_metric("trainer", 1.0, 0, wait_seconds=0.0, step_seconds=0.0))


def test_versions_that_a_resumed_trainer_repeats_stand_once():
    steps = [a_metric("trainer", float(v), v, reward=0.1 * v) for v in (0, 1, 2, 3)]
    again = a_metric("trainer", 9.0, 2, reward=0.9)
    assert taken(*steps, again)["reward"] == pytest.approx([0.0, 0.1, 0.9])


def test_an_accuracy_that_is_measured_again_replaces_the_one_before():
    first, second = (a_metric("evaluator", float(t), 0, heldout_accuracy=t / 10) for t in (1, 2))
    assert taken(first, second)["accuracy"] == [0.2]


def test_the_mentors_latency_is_that_of_the_cases_since_its_last_report():
    first = a_metric("mentor", 0.0, hints=2, seconds_mean=10.0)
    second = a_metric("mentor", 10.0, hints=3, silent=1, seconds_mean=15.0)
    assert taken(first, second)["mentor_seconds"] == [10.0, 20.0]
    idle = a_metric("mentor", 20.0, hints=3, silent=1, seconds_mean=15.0)
    assert taken(first, second, idle)["mentor_seconds"] == [10.0, 20.0]


def test_the_backlog_is_what_collapsed_less_what_mentors_dealt_with_over_all_processes_and_restarts():
    metrics = [
        a_metric("rollout", 0.0, collapsed=5),
        a_metric("rollout", 10.0, instance="host:2", collapsed=3),
        a_metric("mentor", 20.0, cases=6),
        a_metric("mentor", 30.0, instance="host:9", cases=1),
    ]
    assert taken(*metrics)["mentor_backlog"] == [5.0, 8.0, 2.0, 1.0]


def test_tokens_are_added_up_over_the_workers_that_report():
    metrics = [
        a_metric("rollout", 0.0, tokens_per_second=100.0),
        a_metric("rollout", 5.0, instance="host:2", tokens_per_second=50.0),
        a_metric("rollout", 60.0, instance="host:2", tokens_per_second=70.0),
    ]
    assert taken(*metrics)["tokens_per_second"] == [100.0, 150.0, 70.0]


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_what_is_no_number_is_in_no_curve(value: float):
    assert taken(a_metric("trainer", 1.0, 0, reward=value), a_metric("rollout", 1.0, collapsed=value)) == {
        "mentor_backlog": [0.0],
        "tokens_per_second": [0.0],
    }


@pytest.mark.parametrize("time", [nan, inf, -1.0, 1e300])
def test_a_metric_without_a_time_is_of_the_time_at_which_it_came(time: float):
    known = Measures()
    known.take(a_metric("trainer", time, 0, reward=1.0), 1, 42.0)
    assert [point.time for point in known.curves["reward"]] == [42.0]


def test_a_process_is_quiet_when_it_misses_reports_at_its_own_pace():
    known = Health()
    for time in (0.0, 1.0, 2.0):
        known.take(a_metric("rollout", 0.0), time)
    for time in (0.0, 60.0):
        known.take(a_metric("trainer", 0.0), time)
    assert [one.quiet(75.0) for one in known.processes(75.0)] == [True, False]
    assert [one.quiet(301.0) for one in known.processes(301.0)] == [True, True]


def test_a_process_that_was_replaced_long_ago_is_shown_no_more():
    known = Health()
    known.take(a_metric("mentor", 0.0, instance="host:1"), 0.0)
    known.take(a_metric("mentor", 0.0, instance="host:2"), 1000.0)
    assert [one.instance for one in known.processes(1001.0)] == ["host:2"]
    assert len(known.processes(5000.0)) == 2, "when none reports all are worth a look"


@pytest.mark.parametrize(
    ("component", "names"),
    [
        ("trainer", [*BY_VERSION, "wait_seconds", "step_seconds", "generated_tokens", "pending_groups"]),
        ("evaluator", ["heldout_accuracy"]),
        ("rollout", ["collapsed", "tokens_per_second"]),
        ("mentor", ["cases", "hints", "fallbacks", "silent", "seconds_mean"]),
    ],
)
def test_what_is_drawn_is_what_components_report(component: str, names: list[str]):
    assert [name for name in names if not catalogue.fed_by(component, name)] == []
