"""The trainer as several processes, over a recorded stream: killed, short of room, refused."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import Group
from tests.trainer.policies import sampled_groups
from tests.trainer.recorded import Recording, mixed_groups

VERSIONS = 7
NOBODY = 9
TENSOR, DATA = "tensor_parallel = 2", "data_parallel = 2"


@pytest.fixture(scope="module")
def groups(policy_of: Callable[..., Path]) -> list[Group]:
    return mixed_groups(policy_of(), 80)


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, policy_of: Callable[..., Path], groups: list[Group]
) -> Callable[[str], Recording]:
    """A run of two ranks that nobody disturbed, once for each way to share the work."""
    made: dict[str, Recording] = {}

    def run(way: str) -> Recording:
        if way not in made:
            made[way] = recorded(tmp_path_factory.mktemp("whole"), policy_of(), groups, way)
            made[way].finish()
        return made[way]

    return run


def recorded(directory: Path, policy: Path, groups: list[Group], way: str) -> Recording:
    recording = Recording(directory, policy)
    recording.configure(run=f"max_versions = {VERSIONS}", trainer=way)
    recording.append(groups)
    return recording


def ranks_of(process: "subprocess.Popen[bytes]") -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in children.read_text().split()]


@pytest.mark.parametrize(
    ("way", "victim"), [(TENSOR, "a rank"), (DATA, "all at once")], ids=["tensor", "data"]
)
def test_ranks_that_were_killed_go_on_as_if_nothing_had_been(
    tmp_path: Path,
    policy_of: Callable[..., Path],
    whole: Callable[[str], Recording],
    groups: list[Group],
    way: str,
    victim: str,
) -> None:
    """G3: bit for bit, and from the checkpoint before where a file of the newest is cut short."""
    recording = recorded(tmp_path, policy_of(), groups, way)
    if way is DATA:  # once in good order, in the middle of it
        process = recording.start()
        recording.await_release(process, lambda release: release.policy_version >= 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM, recording.log()
        assert "so do the others" not in recording.log()
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version >= 5)
    pid = ranks_of(process)[1] if victim == "a rank" else process.pid
    os.kill(pid, signal.SIGKILL)
    assert process.wait(60) != 0
    if victim == "a rank":
        assert "rank 1 of 2 ended with SIGKILL; so do the others" in recording.log()
    *_, newest = sorted((tmp_path / "checkpoints").glob("v*"))
    shard = max(newest.glob("model/*.distcp"))
    os.truncate(shard, shard.stat().st_size // 2)
    recording.finish()

    assert f"{newest.name} is damaged" in recording.log()
    assert recording.measured("loss") == whole(way).measured("loss")
    assert recording.releases()[-1].digest == whole(way).releases()[-1].digest


@pytest.mark.parametrize(("victim", "code"), [(0, 137), (2, 137), (NOBODY, 0)], ids=["lead", "other", "none"])
def test_where_a_rank_is_killed_while_a_batch_is_scattered_all_end(victim: int, code: int) -> None:
    command = [sys.executable, "-m", "tests.trainer.scattered", str(victim)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr[-3000:]
    assert (f"rank {victim} of 3 ended with SIGKILL" in done.stderr) == (victim != NOBODY)


def test_ranks_end_before_a_checkpoint_of_another_policy(
    tmp_path: Path, policy_of: Callable[..., Path], whole: Callable[[str], Recording]
) -> None:
    shutil.copytree(whole(TENSOR).directory / "checkpoints", tmp_path / "checkpoints")
    recording = recorded(tmp_path, policy_of("qwen3"), sampled_groups(policy_of("qwen3"), 1), TENSOR)
    assert recording.start().wait(60) == 1
    assert "started from another policy" in recording.log()
    # which of two that have ended is heard of first, nobody can say
    assert re.search(r"rank [01] of 2 ended with exit code 1; so do the others", recording.log())


@pytest.fixture
def small_disk(tmp_path: Path, whole: Callable[[str], Recording]) -> list[str]:
    """Before a command: its checkpoints have a file system with room for two and a half, then with enough."""
    places = sorted((whole(TENSOR).directory / "checkpoints").iterdir())
    one = sum(-(-f.stat().st_size // 4096) * 4096 for f in places[-1].rglob("*") if f.is_file())
    mount = f"mount -t tmpfs -o size={5 * one // 2} tmpfs {tmp_path / 'checkpoints'}"
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    (tmp_path / "checkpoints").mkdir()
    if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
    again = f'mount -o remount,size=1g {tmp_path / "checkpoints"} && "$@"'
    return [*begin, f'{mount} && if "$@"; then echo "there was room"; exit 1; fi; {again}', "sh"]


def test_ranks_end_on_a_full_disk_and_go_on_when_there_is_room(
    tmp_path: Path,
    policy_of: Callable[..., Path],
    whole: Callable[[str], Recording],
    groups: list[Group],
    small_disk: list[str],
) -> None:
    recording = recorded(tmp_path, policy_of(), groups, TENSOR)
    command = [*small_disk, sys.executable, "-W", "ignore", "-m", "trainer", str(tmp_path / "run.toml")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "No space left on device" in done.stderr
    assert "Free space or set run.directory elsewhere" in done.stderr
    assert "resumed version 4" in done.stderr
    assert recording.measured("loss") == whole(TENSOR).measured("loss")
