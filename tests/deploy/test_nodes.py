"""The trainer on two nodes, started by the chart's own command: robbed of one, and stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster import free_ports
from tests.deploy.chart import pods
from tests.trainer.policies import write_policy
from tests.trainer.recorded import Recording, mixed_groups
from trainer import journal

SECONDS = 120

Node = subprocess.Popen[bytes]


@pytest.fixture
def nodes() -> Iterator[Callable[[Recording], list[Node]]]:
    """Starts both nodes of a recording's trainer; whatever runs at the end is killed."""
    running: list[Node] = []

    def start(recording: Recording) -> list[Node]:
        (port,) = free_ports(1)
        started = [_start(recording, rank, port) for rank in range(2)]
        running.extend(started)
        return started

    yield start
    for node in running:
        node.kill()
        node.wait()


def _start(recording: Recording, rank: int, port: int) -> Node:
    (container,) = pods("multi-node")["trainer"]["containers"]
    here = {
        "--nnodes": "2", "--nproc-per-node": "1", "--node-rank": str(rank), "--master-addr": "127.0.0.1",
        "--master-port": str(port), "/etc/mentor-stream/run.toml": str(recording.directory / "run.toml"),
    }  # fmt: skip
    arguments = [
        f"{name}={here.get(name, value)}" if value else here.get(name, name)
        for name, _, value in (word.partition("=") for word in container["args"])
    ]
    log = (recording.directory / "log").open("ab")
    command = [sys.executable, "-W", "ignore", "-m", "trainer.torchrun", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


@pytest.mark.slow
def test_a_trainer_that_lost_a_node_goes_on_and_one_that_is_asked_to_stop_saves_first(
    tmp_path: Path, nodes: Callable[[Recording], list[Node]]
) -> None:
    policy = write_policy(tmp_path / "policy", "llama", tied=False)
    recording, groups = Recording(tmp_path, policy), mixed_groups(policy, 60)
    recording.configure(run="max_versions = 1000", trainer="data_parallel = 2")
    recording.append(groups[:30])

    first, second = nodes(recording)
    recording.await_release(first, lambda release: release.policy_version >= 2)
    second.kill()  # as when its machine is gone
    assert first.wait(SECONDS) != 0
    reached = max(release.policy_version for release in recording.releases())

    recording.append(groups[30:])
    first, second = nodes(recording)
    recording.await_release(first, lambda release: release.policy_version > reached)
    for node in (first, second):  # as when their Job is deleted
        node.send_signal(signal.SIGTERM)
    assert [first.wait(SECONDS), second.wait(SECONDS)] == [128 + signal.SIGTERM] * 2, recording.log()
    kept = recording.checkpoint()
    assert kept is not None, recording.log()
    assert kept.state.version > reached

    trained = [group for batch in journal.read(tmp_path / "batches.jsonl") for group in batch.groups]
    assert len(set(trained)) == len(trained)
