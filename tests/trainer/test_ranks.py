"""The trainer as several processes, over a recorded stream: killed, short of room, refused."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import Group
from tests.metrics.asking import address_of, ask, until
from tests.trainer.policies import sampled_groups
from tests.trainer.recorded import Recording, mixed_groups
from tests.trainer.test_launch import assert_ended

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
    """G3: bit for bit, and from the checkpoint before where a file of the newest is gone or cut short."""
    recording = recorded(tmp_path, policy_of(), groups, way)
    if way is DATA:  # once in good order, in the middle of it
        process = recording.start()
        recording.await_release(process, lambda release: release.policy_version >= 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM, recording.log()
        assert "so do the others" not in recording.log()
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version >= 5)
    ranks = ranks_of(process)
    handles = [os.pidfd_open(rank) for rank in ranks]
    os.kill(ranks[1] if victim == "a rank" else process.pid, signal.SIGKILL)
    assert process.wait(60) == (137 if victim == "a rank" else -signal.SIGKILL)
    assert_ended(handles)
    if victim == "a rank":
        assert "rank 1 of 2 ended with SIGKILL; so do the others" in recording.log()
        assert "rank 0 has lost another" in recording.log()
        assert "Traceback" not in recording.log()
    *_, newest = sorted((tmp_path / "checkpoints").glob("v*"))
    shard = max(newest.glob("model/*.distcp"))
    if victim == "a rank":
        shard.unlink()
    else:
        os.truncate(shard, shard.stat().st_size // 2)
    recording.finish()

    assert f"{newest.name} is damaged" in recording.log()
    assert recording.measured("loss") == whole(way).measured("loss")
    assert recording.releases()[-1].digest == whole(way).releases()[-1].digest


@pytest.mark.parametrize("asked", ["rank 0", "all of them and whoever started them"])
def test_ranks_that_are_asked_to_stop_save_first_whoever_is_asked(
    tmp_path: Path, policy_of: Callable[..., Path], groups: list[Group], asked: str
) -> None:
    recording = recorded(tmp_path, policy_of(), groups[:20], DATA)
    recording.configure(run="max_versions = 1000", trainer=DATA)
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version >= 1)
    if asked == "rank 0":
        os.kill(ranks_of(process)[0], signal.SIGTERM)
    else:
        os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM, recording.log()
    assert "asked to stop" in recording.log()
    assert "Traceback" not in recording.log()
    kept = recording.checkpoint()
    assert kept is not None
    assert kept.state.version == max(release.policy_version for release in recording.releases())


def test_ranks_that_are_asked_to_stop_while_they_start_do_not_wait_for_each_other(
    tmp_path: Path, policy_of: Callable[..., Path], groups: list[Group]
) -> None:
    for everybody in (True, False):
        recording = recorded(tmp_path, policy_of(), groups[:4], DATA)
        process = recording.start()
        while len(ranks := ranks_of(process)) < 2:
            assert process.poll() is None, recording.log()
        handles = [os.pidfd_open(rank) for rank in ranks]
        (os.killpg if everybody else os.kill)(process.pid, signal.SIGTERM)
        assert process.wait(60) in (128 + signal.SIGTERM, -signal.SIGTERM), recording.log()
        assert_ended(handles)


def test_a_rank_that_hangs_is_told_of_by_the_first_one_and_when_it_goes_on_so_does_training(
    tmp_path: Path, policy_of: Callable[..., Path], groups: list[Group]
) -> None:
    recording = recorded(tmp_path, policy_of(), groups[:20], DATA)
    stuck = "[telemetry]\nstep_stuck_after_seconds = 5"
    recording.configure(run="max_versions = 1000", trainer=f"{DATA}\n{stuck}")
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version >= 1)
    address, (_, hanging) = address_of(tmp_path, "trainer"), ranks_of(process)
    os.kill(hanging, signal.SIGSTOP)
    recording.append(groups[20:])
    until(lambda: ask(address, "/healthz").status == 503)
    assert "training has not turned for" in ask(address, "/healthz").body
    os.kill(hanging, signal.SIGCONT)
    until(lambda: ask(address, "/healthz").status == 200)
    recording.await_release(process, lambda release: release.policy_version >= 8)
    os.kill(hanging, signal.SIGSTOP)
    handles = [os.pidfd_open(rank) for rank in ranks_of(process)]
    process.kill()  # as a supervisor does once its grace is over
    process.wait()
    assert_ended(handles)


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
    assert recording.start().wait(60) == 2
    [line] = recording.log().splitlines()
    assert line.startswith("mentor-stream: run.policy is ")
    assert "started from another policy" in line


def machines(recording: Recording, **environment: str) -> "list[subprocess.Popen[bytes]]":
    """A rank on each of two, as a cluster starts them."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    place = ["--master-addr=127.0.0.1", f"--master-port={port}", "--nnodes=2", "--nproc-per-node=1"]
    command = [sys.executable, "-W", "ignore", "-m", "trainer.torchrun", *place]
    return [
        subprocess.Popen(
            [*command, f"--node-rank={number}", str(recording.directory / "run.toml")],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            stdout=(recording.directory / "log").open("ab"),
            stderr=subprocess.STDOUT,
        )
        for number in range(2)
    ]


@pytest.mark.parametrize("shared", [True, False], ids=["with a place in common", "without"])
def test_of_several_machines_that_of_the_rank_that_found_it_says_it_and_ends_so(
    tmp_path: Path, policy_of: Callable[..., Path], whole: Callable[[str], Recording], shared: bool
) -> None:
    shutil.copytree(whole(TENSOR).directory / "checkpoints", tmp_path / "checkpoints")
    recording = recorded(tmp_path, policy_of("qwen3"), sampled_groups(policy_of("qwen3"), 1), TENSOR)
    environment = {"MENTOR_STREAM_ENDING": str(tmp_path / "ending")} if shared else {}
    processes = machines(recording, **environment)
    assert [process.wait(120) for process in processes] == [2, 2 if shared else 1]
    said = [line for line in recording.log().splitlines() if "started from another policy" in line]
    assert len(said) == 1
    assert said[0].startswith("mentor-stream: run.policy is ")
    assert ("rank 1 has lost another" in recording.log()) == (not shared)
    assert "Traceback" not in recording.log()


def test_several_machines_that_are_asked_to_stop_keep_their_place_and_end_as_one_does(
    tmp_path: Path, policy_of: Callable[..., Path], whole: Callable[[str], Recording], groups: list[Group]
) -> None:
    recording = recorded(tmp_path, policy_of(), groups, TENSOR)
    processes = machines(recording)
    recording.await_release(processes[0], lambda release: release.policy_version >= 1)
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)
    assert [process.wait(60) for process in processes] == [128 + signal.SIGTERM] * 2, recording.log()
    assert "asked to stop" in recording.log()
    recording.finish()
    assert recording.measured("loss") == whole(TENSOR).measured("loss")


@pytest.fixture
def small_disk(tmp_path: Path, whole: Callable[[str], Recording]) -> list[str]:
    """Before a command: its checkpoints have a file system with room for two and a half, then with enough.

    The first time it is to end with 75.
    """
    places = sorted((whole(TENSOR).directory / "checkpoints").iterdir())
    one = sum(-(-f.stat().st_size // 4096) * 4096 for f in places[-1].rglob("*") if f.is_file())
    mount = f"mount -t tmpfs -o size={5 * one // 2} tmpfs {tmp_path / 'checkpoints'}"
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    (tmp_path / "checkpoints").mkdir()
    if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
    again = f'mount -o remount,size=1g {tmp_path / "checkpoints"} && "$@"'
    return [*begin, f'{mount}; "$@"; [ $? = 75 ] || exit 1; {again}', "sh"]


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
    [said] = [line for line in done.stderr.splitlines() if "No space left on device" in line]
    assert said.startswith("mentor-stream: snapshot ")
    assert said.endswith("Free space or set run.directory elsewhere.")
    assert "Traceback" not in done.stderr
    assert "so do the others" not in done.stderr
    assert "resumed version 4" in done.stderr
    assert recording.measured("loss") == whole(TENSOR).measured("loss")
