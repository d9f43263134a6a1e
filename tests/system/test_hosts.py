"""A run over several hosts, each of which loses the others for a while.

HOSTS_CUT_SECONDS is for how long; unset, Kafka is away for 30 s and the others for longer
than its sessions last.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mentor_stream import releases
from mentor_stream.stream import Stream
from tests.cluster import Cluster, free_ports, needs_nodes
from tests.system.demo import (
    Demo,
    check_that_nothing_is_lost,
    check_what_was_trained,
    ended,
    finish_what_is_left,
)
from tests.system.hosts import Host, Network, needs_hosts

Process = subprocess.Popen[bytes]

CUT_SECONDS = os.environ.get("HOSTS_CUT_SECONDS")
ENDLESS = 100_000

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_nodes, needs_hosts]


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


def started(demo: Demo, hosts: dict[str, Host]) -> dict[str, Process]:
    """The run's processes: the trainer's two ranks on a host each, the feeder beside the first."""
    first, second, sampler, teacher = (hosts[name] for name in ("first", "second", "sampler", "teacher"))
    (port,) = free_ports(1)
    ranks = ["trainer.torchrun", "--nnodes", "2", "--nproc-per-node", "1"]
    ranks += ["--master-addr", first.address, "--master-port", str(port)]
    config = str(demo.config)

    def start(host: Host, name: str, command: list[str]) -> Process:
        # gloo takes the interface that the machine's name leads to, and here all have the machine's name
        settings = {"GLOO_SOCKET_IFNAME": "eth0", "MENTOR_STREAM__TRAINER__DATA_PARALLEL": "2"}
        return host.start(command, demo.directory / "logs" / f"{name}.log", **settings)

    (demo.directory / "logs").mkdir()
    return {
        "rollout": start(sampler, "rollout", ["mentor_stream.cli", "rollout", config]),
        "mentor": start(teacher, "mentor", ["mentor_stream.cli", "mentor", config]),
        "rank-1": start(second, "rank-1", [*ranks, "--node-rank", "1", config]),
        "rank-0": start(first, "rank-0", [*ranks, "--node-rank", "0", config]),
        "feeder": start(first, "feeder", ["mentor_stream.cli", "feed", config]),
    }


async def newest(stream: Stream) -> int:
    release = await releases.newest(stream)
    return -1 if release is None else release.policy_version


async def gets_on(demo: Demo, stream: Stream, processes: dict[str, Process]) -> None:
    """Returns when two more versions are out; fails when they do not come or a process has ended."""
    wanted = await newest(stream) + 2
    with anyio.fail_after(150):
        while await newest(stream) < wanted:
            dead = [name for name, process in processes.items() if process.poll() is not None]
            assert not dead, f"{dead} ended\n{demo.said()}"
            await anyio.sleep(0.5)


async def stop(processes: dict[str, Process]) -> None:
    """As an orchestrator does."""
    for process in processes.values():
        process.terminate()
    with anyio.fail_after(60):
        codes = {name: await ended(process) for name, process in processes.items()}
    assert codes == dict.fromkeys(processes, 143)


async def test_a_run_over_five_hosts_goes_on_when_one_after_the_other_is_cut_off_and_loses_nothing(
    tmp_path: Path, network: Network
) -> None:
    hosts = {name: network.host(name) for name in ("kafka", "first", "second", "sampler", "teacher")}
    kafka = hosts["kafka"]
    with (
        Cluster(tmp_path / "kafka", address=kafka.address, prefix=kafka.prefix) as cluster,
        Demo(tmp_path, broker=cluster.url, versions=ENDLESS) as demo,
    ):
        processes = started(demo, hosts)
        async with demo.stream() as stream:
            await gets_on(demo, stream, processes)
            for name, host in hosts.items():
                host.cut_off()
                await anyio.sleep(float(CUT_SECONDS or (30 if name == "kafka" else 12)))
                host.bring_back()
                await gets_on(demo, stream, processes)
            await stop(processes)
            await finish_what_is_left(demo, stream)
            await check_that_nothing_is_lost(demo, stream)
            batches = (demo.directory / "batches.jsonl").read_text().splitlines()
            await check_what_was_trained(demo, stream, versions=len(batches))
