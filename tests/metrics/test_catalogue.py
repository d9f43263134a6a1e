"""The declared metrics: named as Prometheus wants them, explained, and all that components report."""

import re
from dataclasses import fields

import pytest
from prometheus_client import ProcessCollector

from consumers.tally import Tally as MentorTally
from mentor_stream import topics
from mentor_stream.metrics import catalogue
from mentor_stream.metrics.catalogue import shared
from mentor_stream.metrics.measure import COMMON_LABELS, Kind, Measure
from producers.evaluator import figures
from producers.tally import Tally as RolloutTally
from schemas import Diagnosis, Outcome, Verdict
from tests.builders import a_group
from trainer.intake.tally import Tally as ArrivalTally
from trainer.learning.steps import Step

UNITS = ("seconds", "bytes", "ratio", "tokens", "groups", "queries", "cases", "records")


def declared(component: str) -> set[str]:
    return {key for measure in catalogue.of(component) for key in measure.keys}


@pytest.mark.parametrize("measure", catalogue.ALL, ids=lambda measure: measure.name)
def test_a_metric_has_a_name_of_prometheus_and_is_explained(measure: Measure) -> None:
    assert re.fullmatch(r"(mentor_stream|process)_[a-z0-9_]+", measure.name)
    assert measure.name.endswith("_total") == (measure.kind is Kind.COUNTER)
    assert not measure.name.endswith(("_count", "_sum", "_bucket"))
    assert all((measure.means, measure.normal, measure.act))
    assert not set(measure.labels) & {*COMMON_LABELS, "instance", "job", "le"}
    assert all(len(values) == len(measure.labels) for values in (*measure.keys.values(), *measure.begins))
    assert bool(measure.buckets) == (measure.kind is Kind.HISTOGRAM)
    assert list(measure.buckets) == sorted(set(measure.buckets))
    if measure.component in catalogue.COMPONENTS:
        assert measure.name.startswith(f"mentor_stream_{measure.component}_")


def test_no_two_metrics_have_a_series_in_common() -> None:
    names = [name for measure in catalogue.ALL for name in measure.series]
    assert len(names) == len(set(names))
    keys = [
        (component, key)
        for component in catalogue.COMPONENTS
        for measure in catalogue.of(component)
        for key in measure.keys
    ]
    assert len(keys) == len(set(keys))


def test_a_rollout_workers_values_are_declared() -> None:
    assert set(RolloutTally().values(now=1e9)) <= declared("rollout")


def test_a_mentors_values_are_declared() -> None:
    tally = MentorTally()
    tally.count(
        Diagnosis(
            group_id="g",
            query_id="q",
            guide="fdcg",
            round=1,
            outcome=Outcome.HINT,
            reason="",
            policy_version=0,
        )
    )
    assert set(tally.values()) | {"waiting"} <= declared("mentor")
    assert {"seconds_mean"} <= set(tally.values())


def test_a_trainers_values_are_declared() -> None:
    tally = ArrivalTally()
    for origin in ("RW", "WW"):
        tally.add(a_group(origin), collapsed=False)
    assert {field.name for field in fields(Step)} <= declared("trainer")
    assert set(tally.values()) <= declared("trainer")


def test_an_evaluators_values_are_declared() -> None:
    assert set(figures([[Verdict.RIGHT], [Verdict.UNSCORABLE]])) <= declared("evaluator")


def test_outcomes_and_verdicts_each_have_their_series() -> None:
    outcomes = {values[0] for values in catalogue.fed_by("mentor", "hints")[0][0].keys.values()}
    verdicts = {values[0] for values in catalogue.fed_by("rollout", "right")[0][0].keys.values()}
    assert outcomes == {outcome.value for outcome in Outcome}
    assert verdicts == {verdict.value for verdict in Verdict}


def test_topics_are_known_by_their_names() -> None:
    assert tuple(topic.name for topic in topics.ALL) == shared.TOPICS


def test_what_the_library_measures_of_a_process_is_declared_as_it_is() -> None:
    found = {
        (sample.name, family.type)
        for family in ProcessCollector(registry=None).collect()
        for sample in family.samples
    }
    assert found == {(measure.name, measure.kind.value) for measure in shared.OF_THE_LIBRARY}
