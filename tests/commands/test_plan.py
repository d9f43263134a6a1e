"""What it takes to make topics what the config says."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream import topics
from mentor_stream.broker import TopicSpec
from mentor_stream.commands.topics.plan import Change
from mentor_stream.topics import GROUPS, POLICIES

limits = st.none() | st.integers(1, 10**9)
specs = st.builds(
    TopicSpec,
    name=st.just("run.groups"),
    partitions=st.integers(1, 6),
    retention_seconds=st.none() | st.floats(1, 1e9),
    retention_bytes=limits,
    max_message_bytes=st.integers(1, 10**8),
    replication=st.integers(1, 3),
)
AS_IT_IS = TopicSpec("run.groups", partitions=4)


def applied(change: Change) -> TopicSpec:
    """The topic after the change, as a broker would have it: milliseconds, and copies as they were."""
    if change.action == "create":
        return change.wanted
    assert change.actual
    if change.action != "alter":
        return change.actual
    seconds = change.wanted.retention_seconds
    seconds = seconds and int(seconds * 1000) / 1000
    return replace(change.wanted, replication=change.actual.replication, retention_seconds=seconds)


@given(wanted=specs, actual=st.none() | specs)
def test_applying_the_plan_gives_what_is_wanted_or_the_plan_refuses(
    wanted: TopicSpec, actual: TopicSpec | None
) -> None:
    change = Change(GROUPS, wanted, actual)
    after = Change(GROUPS, wanted, applied(change))
    if change.action == "refuse":
        assert actual
        assert actual.partitions > wanted.partitions
        assert change.refusal
    else:
        assert not change.refusal
        assert {d.setting for d in after.differences} <= {"replication"}
        assert after.action == "keep"
        assert after.differences == ([] if actual is None else change.left(applied=True))


@given(wanted=specs, actual=specs)
def test_each_difference_is_told_with_both_values(wanted: TopicSpec, actual: TopicSpec) -> None:
    told = {d.setting: (d.actual, d.wanted) for d in Change(GROUPS, wanted, actual).differences}
    for setting in ("partitions", "replication"):
        values = getattr(actual, setting), getattr(wanted, setting)
        assert told.get(setting) == (values if values[0] != values[1] else None)
    if actual.retention_bytes is None and wanted.retention_bytes is not None:
        assert told["retention_bytes"] == ("unlimited", wanted.retention_bytes)


def test_a_topic_as_configured_needs_nothing_though_kafka_keeps_milliseconds() -> None:
    wanted = replace(AS_IT_IS, retention_seconds=1000 / 3)
    change = Change(GROUPS, wanted, replace(AS_IT_IS, retention_seconds=333.333))
    assert (change.action, change.differences, change.warnings) == ("keep", [], [])


def test_fewer_partitions_are_refused_with_both_numbers_and_the_way_out() -> None:
    refusal = Change(GROUPS, replace(AS_IT_IS, partitions=2), AS_IT_IS).refusal
    assert refusal is not None
    for words in ("run.groups has 4 partitions, 2 are configured", "topics.groups.partitions to 4 or more"):
        assert words in refusal


def test_an_ordered_topic_with_partitions_is_not_told_to_configure_them() -> None:
    refusal = Change(POLICIES, TopicSpec("run.policies"), TopicSpec("run.policies", partitions=3)).refusal
    assert refusal is not None
    assert "run.policies has 3 partitions" in refusal
    assert "topics.policies" not in refusal


@pytest.mark.parametrize(
    ("wanted", "warning"),
    [
        (replace(AS_IT_IS, partitions=5), "keys move"),
        (replace(AS_IT_IS, retention_seconds=7200.0), "older than 2 h are deleted"),
        (replace(AS_IT_IS, retention_bytes=5_000_000), "above 5,000,000 bytes"),
        (replace(AS_IT_IS, replication=3), "kafka-reassign-partitions.sh"),
        (replace(AS_IT_IS, max_message_bytes=1), None),
        (AS_IT_IS, None),
    ],
)
def test_what_a_change_means_beyond_its_number_is_said(wanted: TopicSpec, warning: str | None) -> None:
    told = Change(GROUPS, wanted, AS_IT_IS).warnings
    assert len(told) == (warning is not None)
    assert warning is None or warning in told[0]


def test_keeping_more_needs_no_warning() -> None:
    short = replace(AS_IT_IS, retention_seconds=60.0, retention_bytes=10)
    assert Change(GROUPS, AS_IT_IS, short).warnings == []
    assert Change(GROUPS, AS_IT_IS, short).action == "alter"


@pytest.mark.parametrize("run", ["run", "a.b", "queries", "x.queries"])
def test_a_topic_of_the_broker_is_known_by_its_name(run: str) -> None:
    for topic in topics.ALL:
        assert topics.parse(topic.of(run)) == (run, topic)


@pytest.mark.parametrize("name", ["queries", ".queries", "__consumer_offsets", "run.quarries", ""])
def test_other_topics_of_the_broker_are_of_no_run(name: str) -> None:
    assert topics.parse(name) is None
