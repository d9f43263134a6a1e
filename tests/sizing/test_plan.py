"""How large a run must be."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.sizing.plan import HEADROOM, Cluster, Need, mentors, plan, rollout_workers
from mentor_stream.sizing.weights import Weights
from mentor_stream.sizing.workload import Workload
from mentor_stream.topics import MOST_PARTITIONS

RUN = Workload(
    group_size=8,
    batch_groups=32,
    trained_rate=16_000,
    sampled_rate=8_000,
    completion_tokens=1_000,
    prompt_tokens=200,
    teaching=0.5,
    collapsed=0.25,
    group_seconds=20,
    case_seconds=60,
    concurrency=16,
)
CLUSTER = Cluster(
    replication=3,
    partitions=8,
    max_staleness=4,
    keep_hours=24,
    publish_every=1,
    keep_snapshots=4,
    keep_checkpoints=2,
    rollout_gpus=2,
    trainer_gpus=8,
    model_parallel=4,
)
WEIGHTS = Weights(parameters=7_000_000_000, size=14_000_000_000)

rates = st.floats(1, 1e6)
workloads = st.builds(
    Workload,
    group_size=st.integers(2, 64),
    batch_groups=st.integers(1, 1024),
    trained_rate=rates,
    sampled_rate=rates,
    completion_tokens=st.floats(1, 1e5),
    prompt_tokens=st.floats(1, 1e5),
    teaching=st.floats(0.01, 1),
    collapsed=st.floats(0, 1),
    group_seconds=st.floats(0.01, 1e4),
    case_seconds=st.floats(0.01, 1e4),
    concurrency=st.integers(1, 1000),
)


def need(name: str, load: Workload = RUN, cluster: Cluster = CLUSTER) -> Need:
    (found,) = (one for one in plan(load, cluster, WEIGHTS) if one.name == name)
    return found


def test_a_run_reckoned_by_hand():
    assert RUN.trained_groups == 2  # 16,000 tokens a second / (8 x 1,000)
    assert RUN.sampled_groups == 4
    assert RUN.step_seconds == 16
    assert rollout_workers(RUN) == 5  # 32,000 tokens a second / 8,000, and a quarter more
    assert need("rollout GPUs").value == 5 * 2 / 8
    assert need("cases at once").value == 60  # one collapsed group a second, a minute each
    assert mentors(RUN) == 5  # 75 at once, 16 in each
    assert need("staleness").value == 2  # a group is 20 s old when sampled, a step takes 16
    assert RUN.group_bytes == 8 * (1_000 * 12 + 200 * 4) + 200 * 4
    assert need("stream on disk").value == pytest.approx(4 * RUN.group_bytes * 24 * 3600 * 3 / 1e9)
    assert need("brokers").value == 3
    assert need("snapshots").value == 70
    assert need("checkpoints").value == pytest.approx(3 * (14 + 7 * 12))
    assert need("model in a trainer GPU").value == pytest.approx((14 + 7 * (4 + 12 / 2)) / 4)


def test_a_config_that_falls_short_is_told_which_setting_to_raise():
    fits = plan(RUN, CLUSTER, None)
    assert not any(one.short for one in fits)
    assert (
        "run.max_staleness is 1"
        in need("staleness", cluster=dataclasses.replace(CLUSTER, max_staleness=1)).short
    )
    assert (
        "topics.partitions is 4"
        in need("partitions", cluster=dataclasses.replace(CLUSTER, partitions=4)).short
    )
    many = dataclasses.replace(RUN, case_seconds=100_000)
    assert f"may be, {MOST_PARTITIONS}" in need("partitions", many).short


@given(workloads)
def test_the_planned_workers_sample_as_much_as_the_trainer_learns_from(load: Workload):
    sampled = rollout_workers(load) * load.sampled_rate * load.teaching
    assert sampled >= load.trained_rate * HEADROOM * (1 - 1e-9)
    assert mentors(load) * load.concurrency >= load.collapsed_groups * load.case_seconds * (1 - 1e-9)


@given(workloads, st.floats(1, 10))
def test_no_faster_trainer_needs_less(load: Workload, times: float):
    faster = dataclasses.replace(load, trained_rate=load.trained_rate * times)
    for slow, fast in zip(plan(load, CLUSTER, WEIGHTS), plan(faster, CLUSTER, WEIGHTS), strict=True):
        if slow.name != "step":
            assert fast.value >= slow.value * (1 - 1e-9), slow.name
