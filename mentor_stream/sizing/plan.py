"""What a workload takes, each number with the reason it is what it is.

How many are at work at once follows from Little's law: arrivals a second times the seconds each stays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from mentor_stream.sizing.weights import Weights
from mentor_stream.sizing.workload import Workload
from mentor_stream.topics import MOST_PARTITIONS

PARTITION_RATE = 10e6
"""Bytes a second that one partition takes with ease."""
BROKER_RATE = 50e6
"""Bytes a second in and out of one broker, which leaves room for a catch-up after an outage."""
READERS = 2
"""Whoever reads a group: the trainer, and one more such as an export or the monitor."""
ADAM_BYTES = 12
"""Of a parameter: a master copy and two moments, float32."""
GRADIENT_BYTES = 4
HEADROOM = 1.25
"""A worker or a mentor more than the average needs: what comes in bursts must not pile up."""


@dataclass(frozen=True)
class Cluster:
    """What is decided beforehand."""

    replication: int
    partitions: int
    max_staleness: int
    keep_hours: float
    """That the stream is kept."""
    publish_every: int
    keep_snapshots: int
    keep_checkpoints: int
    rollout_gpus: int
    """Of one rollout worker's engine."""
    trainer_gpus: int
    model_parallel: int
    """Ranks that share one copy of the model: tensor x pipeline parallel."""


@dataclass(frozen=True)
class Need:
    """One number of the plan."""

    name: str
    value: float
    unit: str
    why: str
    short: str = ""
    """What to change where the config gives less than this."""


def plan(load: Workload, cluster: Cluster, weights: Weights | None) -> list[Need]:
    """Everything a run needs."""
    return [
        *_learning(load),
        *_workers(load, cluster),
        *_mentors(load),
        *_staleness(load, cluster),
        *_stream(load, cluster),
        *(_files(load, cluster, weights) if weights else ()),
    ]


def rollout_workers(load: Workload) -> int:
    """That keep the trainer busy."""
    wanted = load.sampled_groups * load.group_size * load.completion_tokens / load.sampled_rate
    return max(1, ceil(wanted * HEADROOM))


def mentors(load: Workload) -> int:
    """That keep up with what collapses; fewer cost lessons, and no GPU time."""
    return max(1, ceil(load.collapsed_groups * load.case_seconds * HEADROOM / load.concurrency))


def _learning(load: Workload) -> Iterator[Need]:
    yield Need(
        "trained groups", load.trained_groups, "a second",
        f"{load.trained_rate:,.0f} tokens a second, {load.group_size} x {load.completion_tokens:,.0f} each",
    )  # fmt: skip
    yield Need("step", load.step_seconds, "seconds", f"{load.batch_groups} groups a batch")
    yield Need(
        "sampled groups", load.sampled_groups, "a second", f"{load.teaching:.0%} of them teach something"
    )


def _workers(load: Workload, cluster: Cluster) -> Iterator[Need]:
    workers = rollout_workers(load)
    yield Need(
        "rollout workers", workers, "",
        f"{load.sampled_rate:,.0f} tokens a second each, and a quarter more than the average needs",
    )  # fmt: skip
    ratio = workers * cluster.rollout_gpus / cluster.trainer_gpus
    yield Need("rollout GPUs", ratio, "per trainer GPU", f"{cluster.rollout_gpus} a worker")


def _mentors(load: Workload) -> Iterator[Need]:
    at_once = load.collapsed_groups * load.case_seconds
    yield Need(
        "cases at once", at_once, "",
        f"{load.collapsed_groups:.3g} collapsed groups a second, {load.case_seconds:.3g} s each",
    )  # fmt: skip
    yield Need("mentors", mentors(load), "", f"mentor.concurrency is {load.concurrency}")


def _staleness(load: Workload, cluster: Cluster) -> Iterator[Need]:
    """A group that takes k steps to sample is k versions old when it is trained on."""
    steps = load.group_seconds / load.step_seconds
    wanted = max(1, ceil(steps))
    short = (
        f"run.max_staleness is {cluster.max_staleness}: the feeder will hold back, and the trainer wait. "
        "Raise it, or run.batch_groups, or have faster workers"
        if wanted > cluster.max_staleness
        else ""
    )
    unit = "version" if wanted == 1 else "versions"
    yield Need("staleness", wanted, unit, f"a group takes {steps:.2g} steps to sample", short)


def _stream(load: Workload, cluster: Cluster) -> Iterator[Need]:
    rate = load.sampled_groups * load.group_bytes
    yield Need("stream", rate / 1e6, "MB a second", f"{load.group_bytes / 1e3:,.0f} kB a group")
    members = max(rollout_workers(load), mentors(load))
    partitions = max(members, ceil(rate / PARTITION_RATE))
    short = ""
    if partitions > MOST_PARTITIONS:
        short = (
            f"{partitions} partitions are more than topics.partitions may be, {MOST_PARTITIONS}: have fewer "
            "and larger rollout workers, or raise mentor.concurrency, or let cases go (mentor.max_backlog)"
        )
    elif partitions > cluster.partitions:
        short = f"topics.partitions is {cluster.partitions}: only so many members of a group work. Raise it"
    yield Need(
        "partitions", partitions, "at least",
        "one for each rollout worker or mentor, and for each 10 MB a second", short,
    )  # fmt: skip
    traffic = rate * (cluster.replication + READERS)
    brokers = max(cluster.replication, ceil(traffic / BROKER_RATE))
    yield Need(
        "brokers", brokers, "",
        f"replication {cluster.replication}, {traffic / 1e6:,.3g} MB a second in and out, 50 for each broker",
    )  # fmt: skip
    disk = rate * cluster.keep_hours * 3600 * cluster.replication
    yield Need(
        "stream on disk", disk / 1e9, "GB", f"{cluster.keep_hours:g} hours, replication {cluster.replication}"
    )


def _files(load: Workload, cluster: Cluster, weights: Weights) -> Iterator[Need]:
    snapshots = weights.size * (cluster.keep_snapshots + 1)
    yield Need(
        "snapshots", snapshots / 1e9, "GB",
        f"{cluster.keep_snapshots} kept and one being written, {weights.size / 1e9:.3g} GB each",
    )  # fmt: skip
    pull = weights.size * rollout_workers(load) / (load.step_seconds * cluster.publish_every)
    yield Need("snapshots read", pull / 1e6, "MB a second", "every rollout worker, every release")
    checkpoint = weights.size + weights.parameters * ADAM_BYTES
    yield Need(
        "checkpoints", checkpoint * (cluster.keep_checkpoints + 1) / 1e9, "GB",
        f"{cluster.keep_checkpoints} kept and one being written, {checkpoint / 1e9:.3g} GB each",
    )  # fmt: skip
    copies = max(1, cluster.trainer_gpus // cluster.model_parallel)
    own = (
        weights.size + weights.parameters * (GRADIENT_BYTES + ADAM_BYTES / copies)
    ) / cluster.model_parallel
    yield Need(
        "model in a trainer GPU", own / 1e9, "GB",
        "weights, gradients, its share of the optimizer's states; activations come on top. Ranks that share "
        f"the model: {cluster.model_parallel}, copies that share the states: {copies}",
    )  # fmt: skip
