"""Ranks as they are started, stopped and lost; what they do together is in test_ranks.py."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mentor_stream.config import ConfigError
from trainer import launch

RANK = """
import json, os, signal, sys, time
from trainer import launch
launch.end_with_starter()
rank, received = int(os.environ["RANK"]), []
for number in launch.PASSED_ON:
    signal.signal(number, lambda number, _: received.append(number))
def say(**what): os.write(1, (json.dumps({"rank": rank, "pid": os.getpid(), **what}) + "\\n").encode())
"""
STARTER = """
import sys
from trainer import launch
sys.exit(launch.run([sys.executable, "-c", sys.argv[1]], 3, grace=0.2))
"""


@contextmanager
def started(program: str) -> Iterator["subprocess.Popen[str]"]:
    """Three ranks of a program, by the process that started them."""
    command = [sys.executable, "-c", STARTER, RANK + program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def pids(process: "subprocess.Popen[str]") -> list[int]:
    """Of the ranks, once all are there."""
    return [line["pid"] for line in said(process)]


def said(process: "subprocess.Popen[str]", lines: int = 3) -> list[dict[str, Any]]:
    """The next lines, by rank."""
    assert process.stdout
    found = [json.loads(process.stdout.readline()) for _ in range(lines)]
    return sorted(found, key=lambda line: line["rank"])


def test_every_rank_knows_its_number_and_where_to_meet_the_others() -> None:
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"]
    with started(f"say(env=[os.environ[n] for n in {names}])") as process:
        environments = [line["env"] for line in said(process)]
        assert process.wait(60) == 0
    port = environments[0][4]
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    assert environments == [[str(r), str(r), "3", "127.0.0.1", port, threads] for r in range(3)]


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        ("sys.exit(7)", 7, "rank 1 of 3 ended with exit code 7"),
        ("os.kill(os.getpid(), 9)", 137, "rank 1 of 3 ended with SIGKILL"),
    ],
)
def test_where_one_rank_fails_the_others_end_and_it_is_named(
    tmp_path: Path, end: str, code: int, told: str
) -> None:
    told_to = f"__import__('pathlib').Path({str(tmp_path / 'go')!r}).exists()"
    with started(f"say()\nwhile rank != 1 or not {told_to}: time.sleep(0.01)\n{end}") as process:
        handles = [os.pidfd_open(pid) for pid in pids(process)]
        (tmp_path / "go").touch()
        assert process.wait(60) == code
        assert process.stderr
        assert told in process.stderr.read()
    assert_ended(handles)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_passed_on_to_the_first_rank_alone_and_how_long_it_takes_is_its_own_affair(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The others are there to the end: they wait for a file that the first one writes on its signal."""
    there = f"__import__('pathlib').Path({str(tmp_path / 'received')!r})"
    waits = f"while not (received if rank == 0 else {there}.exists()): time.sleep(0.01)"
    with started(f"say()\n{waits}\n{there}.touch()\nsay(received=received)") as process:
        said(process)
        process.send_signal(number)
        assert [line["received"] for line in said(process)] == [[number], [], []]
        assert process.wait(60) == 0


def test_where_the_first_rank_dies_of_a_signal_since_it_still_starts_the_others_are_not_waited_for() -> None:
    """They would wait for it for days."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        default = "if rank == 0: [signal.signal(n, signal.SIG_DFL) for n in launch.PASSED_ON]"
        with started(f"{default}\nsay()\nwhile True: signal.pause()") as process:
            handles = [os.pidfd_open(pid) for pid in pids(process)]
            process.send_signal(number)
            assert process.wait(60) == 128 + number
            assert process.stderr
            assert process.stderr.read() == ""
        assert_ended(handles)


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([0, 0], 0),
        ([-9, 1], 137),
        ([1, -9], 1),
        ([1, 2], 2),
        ([1, 75, 2], 75),
        ([143, 0, 0], 143),
        ([-15, -9], 143),
    ],
)
def test_whoever_knows_what_is_wrong_gives_the_exit_code_and_otherwise_the_first_to_fail(
    codes: list[int], code: int
) -> None:
    assert launch.exit_code(codes) == code


def test_what_one_rank_has_told_is_said_once_and_gives_the_exit_code() -> None:
    """The other two end of the same, and of its end."""
    told = """
from mentor_stream.config import ConfigError
from trainer import ending
with ending.as_rank():
    if rank == 2:
        while ending.told() is None: time.sleep(0.01)
        raise RuntimeError("Connection closed by peer")
    raise ConfigError("run.name is wrong")
"""
    with started(told) as process:
        assert process.wait(60) == 2
        assert process.stderr
        assert process.stderr.read() == "mentor-stream: run.name is wrong\n"


def test_ranks_end_when_whoever_started_them_is_killed() -> None:
    with started("say()\nwhile True: signal.pause()") as process:
        handles = [os.pidfd_open(pid) for pid in pids(process)]
        process.kill()
        assert_ended(handles)


def test_a_rank_whose_starter_is_gone_already_does_not_begin() -> None:
    environment = os.environ | {"RANK": "0", "MENTOR_STREAM_STARTER": "1234567"}
    done = subprocess.run(
        [sys.executable, "-c", RANK + "say()"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "is gone" in done.stderr


@pytest.mark.parametrize(("started_ranks", "wanted"), [("3", 2), ("1", 2), ("2", 1)])
def test_more_or_fewer_ranks_than_the_config_asks_for_are_refused(
    monkeypatch: pytest.MonkeyPatch, started_ranks: str, wanted: int
) -> None:
    monkeypatch.setenv("WORLD_SIZE", started_ranks)
    with pytest.raises(ConfigError, match=rf"{started_ranks} processes were started, .* is {wanted}\. Start"):
        launch.check(wanted)
    monkeypatch.setenv("WORLD_SIZE", str(wanted))
    launch.check(wanted)


def test_only_the_first_rank_sees_the_end_of_the_supervisors_pipe() -> None:
    with started("end = sys.stdin.read()\nsay(end=end)") as process:
        others = said(process, lines=2)
        assert process.stdin
        process.stdin.close()
        first = said(process, lines=1)
        assert process.wait(60) == 0
    assert [line["rank"] for line in [*first, *others]] == [0, 1, 2]


def assert_ended(handles: Sequence[int]) -> None:
    """Processes end, by handles that were had of them while they ran."""
    for handle in handles:
        assert select.select([handle], [], [], 60)[0]
        os.close(handle)
