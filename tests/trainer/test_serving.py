"""What the trainer tells of itself over HTTP, at work and when a step hangs."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as parse

from tests.metrics.asking import address_of, ask, until
from tests.trainer.policies import sampled_groups
from tests.trainer.recorded import Recording


def samples(address: str, name: str) -> dict[tuple[str, ...], float]:
    """A metric's values by its own labels, in the order of their names."""
    families = parse(ask(address, "/metrics").body)
    found = [s for family in families for s in family.samples if s.name == f"mentor_stream_{name}"]
    return {
        tuple(v for k, v in sorted(s.labels.items()) if k not in ("run", "component")): s.value for s in found
    }


def rank_process(number: int, run: Path) -> int:
    """The process of this rank."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            environment = (directory / "environ").read_bytes().split(b"\0")
            command = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if f"RANK={number}".encode() in environment and str(run).encode() in command:
            return int(directory.name)
    raise AssertionError(f"there is no rank {number}")


def test_rank_0_serves_and_tells_a_step_that_hangs_until_it_goes_on(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    recording = Recording(tmp_path, policy_of())
    recording.configure(trainer="data_parallel = 2\n[telemetry]\nstep_stuck_after_seconds = 3")
    groups = sampled_groups(policy_of(), 12)
    recording.append(groups[:7])
    process = recording.start()
    try:
        recording.await_release(process, lambda r: r.policy_version == 1)
        address = address_of(tmp_path, "trainer")
        until(lambda: ask(address, "/healthz").status == ask(address, "/readyz").status == 200)
        assert until(lambda: samples(address, "policy_version"))[()] == 1
        assert samples(address, "trainer_groups_total")["no", "plain"] == 7
        assert samples(address, "trainer_step_seconds_count")[()] == 1
        assert samples(address, "trainer_waiting_seconds_total")[()] > 0
        assert set(samples(address, "lag_records")) == {
            ("rollout", "queries"), ("rollout", "guided"), ("mentor", "collapsed"), ("trainer", "groups")
        }  # fmt: skip

        other = rank_process(1, tmp_path)
        os.kill(other, signal.SIGSTOP)
        recording.append(groups[7:])
        until(lambda: ask(address, "/healthz").status == 503)
        assert "training has not turned for" in ask(address, "/healthz").body
        os.kill(other, signal.SIGCONT)
        until(lambda: ask(address, "/healthz").status == 200)
        until(lambda: samples(address, "policy_version")[()] == 3)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert not list((tmp_path / "telemetry").iterdir())
