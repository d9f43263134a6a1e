"""The picture of a run, also of one that has hardly begun."""

from typing import Any

import pytest

from mentor_stream.supervisor.history import History
from schemas import Metric

pytest.importorskip("matplotlib", reason="the picture needs the trainer's packages")

from mentor_stream.supervisor import curves


def a_history(*steps: dict[str, float]) -> History:
    """One evaluation before the first step, and these steps."""
    first = {"heldout_accuracy": 0.25}
    past = History()
    past.add(Metric(component="evaluator", instance="e", time=1.0, policy_version=0, values=first), 0)
    for number, values in enumerate(steps, start=1):
        step = Metric(component="trainer", instance="t", time=1.0, policy_version=number, values=values)
        past.add(step, number)
    return past


def lines(axes: Any) -> list[Any]:
    """What is drawn over tokens and can be seen."""
    drawn = axes.get_lines()
    return [
        line for line in drawn if len(line.get_xdata()) > 1 or line.get_marker() not in ("", "None", None)
    ]


def test_a_run_that_ended_before_its_first_step_has_no_parts_of_a_token_on_its_axis():
    axes = curves.picture(a_history(), "run").axes
    assert [tick.get_text() for tick in axes[2].get_xticklabels()] == ["0"]
    assert [len(lines(one)) for one in axes] == [1, 0, 0, 0]


def test_a_single_step_can_be_seen():
    step = {"generated_tokens": 500.0, "reward": 0.5, "zero_reward_fraction": 0.5, "rescue_rate": 0.5}
    axes = curves.picture(a_history(step), "run").axes
    assert all(lines(one) for one in axes)
    assert {tick.get_text() for tick in axes[2].get_xticklabels()} >= {"0", "500"}
