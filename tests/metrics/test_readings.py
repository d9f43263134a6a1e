"""Values of metrics: set, counted, observed, and fed by records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.metrics.catalogue import rollout, shared, steps, trainer
from mentor_stream.metrics.exposition import Exposition
from mentor_stream.metrics.health import Health
from mentor_stream.metrics.readings import Readings

BAD_STEPS = next(m for m in steps.MEASURES if "bad_steps" in m.keys)
STEP_SECONDS = next(m for m in trainer.MEASURES if "step_seconds" in m.keys)
CAPPED = max(rollout.SAMPLING_SECONDS.buckets)


def exposed(readings: Readings, component: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = Exposition("run", component, readings, Health()).collect()
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}


def bucket(readings: Readings, bound: str) -> float:
    labels = (("component", "rollout"), ("le", bound), ("run", "run"))
    return exposed(readings, "rollout")[f"{rollout.SAMPLING_SECONDS.name}_bucket", labels]


@given(st.lists(st.floats(min_value=0, max_value=2 * CAPPED)))
def test_a_bucket_counts_all_values_up_to_its_bound(values: list[float]) -> None:
    readings = Readings()
    for value in values:
        readings.observe(rollout.SAMPLING_SECONDS, value)
    for bound in rollout.SAMPLING_SECONDS.buckets:
        assert bucket(readings, f"{bound:g}") == sum(value <= bound for value in values)
    assert bucket(readings, "+Inf") == len(values)
    (seen,) = readings.distributions(rollout.SAMPLING_SECONDS).values()
    assert seen.total == pytest.approx(sum(values))


def test_records_set_totals_add_increments_and_fill_histograms() -> None:
    readings = Readings()
    for loss in (1.0, 2.0):
        readings.report("trainer", {"loss": loss, "bad_steps": 2, "step_seconds": 3.0})
    assert readings.values(BAD_STEPS) == {(): 4.0}
    assert readings.values(next(m for m in steps.MEASURES if "loss" in m.keys)) == {(): 2.0}
    assert readings.distributions(STEP_SECONDS)[()].total == 6.0


def test_counters_stand_at_zero_before_anything_happened_and_gauges_are_not_there() -> None:
    readings = Readings()
    assert readings.values(BAD_STEPS) == {(): 0.0}
    assert set(readings.values(shared.DEAD_LETTERS)) == {(topic,) for topic in shared.TOPICS}
    assert set(readings.values(rollout.TRAJECTORIES).values()) == {0.0}
    assert readings.values(shared.LAG) == {}


def test_a_body_that_raises_is_not_timed() -> None:
    readings = Readings()
    with pytest.raises(KeyError), readings.timing(rollout.JUDGING_SECONDS):
        raise KeyError
    assert sum(readings.distributions(rollout.JUDGING_SECONDS)[()].counts) == 0


def test_a_value_of_nobody_feeds_nothing() -> None:
    readings = Readings()
    readings.report("rollout", {"loss": 1.0, "unheard_of": 1.0})
    assert not readings._values
