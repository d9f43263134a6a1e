"""`mentor-stream up` as a process: it stops what it started, whatever ends it, and goes on where it was."""

import json
import os
import signal
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from mentor_stream.broker import connect
from mentor_stream.topics import TopicsConfig
from tests.supervisor.components import QUESTIONS, read_config
from tests.supervisor.conftest import Supervised, alive, children, ending, until

pytestmark = pytest.mark.anyio
COMPONENTS = 5
PATIENT = ("cat",)
"""A component that does nothing until SIGTERM or the end of its standard input."""


async def test_a_run_survives_kill_9_and_ctrl_c_and_ends_with_its_results(supervised: Supervised) -> None:
    first = supervised.up(STAND_IN_MENTOR="hang")
    await until(lambda: "train starts" in supervised.log("trainer"))
    first.send_signal(signal.SIGINT)
    code, output = await ending(first)
    assert code == 130
    assert f"`mentor-stream up {supervised.directory / 'config.toml'}` goes on from here" in output

    second = supervised.up(STAND_IN_TRAIN="clumsy")
    await until(lambda: process_of("rollout", second.pid) is not None)
    rollout = process_of("rollout", second.pid)
    assert rollout is not None
    os.kill(rollout, signal.SIGKILL)
    code, output = await ending(second)
    assert code == 0, output
    assert "rollout was killed by SIGKILL" in output
    assert "trainer was" not in output, "after the final release its exit code does not matter"
    assert "0.000  →  1.000" in output
    check_results(supervised.directory / "out")

    third = supervised.up()
    code, output = await ending(third)
    assert code == 0
    assert "Run small is finished; nothing was started" in output
    assert "run.policy to its model" in " ".join(output.split())
    assert "0.000  →  1.000" in output
    assert supervised.log("trainer").count("starts") == 2

    later = supervised.up(MENTOR_STREAM__RUN__MAX_VERSIONS="9")
    code, output = await ending(later)
    assert code == 0, output
    assert supervised.log("trainer").count("starts") == 3, "a later end starts it again"
    assert json.loads((supervised.directory / "out" / "summary.json").read_text())["max_versions"] == 9
    code, output = await ending(supervised.up(MENTOR_STREAM__RUN__MAX_VERSIONS="9"))
    assert "Run small is finished; nothing was started" in output


def check_results(out: Path) -> None:
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["policy_version"], summary["guided"], summary["rescued"]) == (QUESTIONS,) * 3
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    steps = [m["values"]["step"] for m in metrics if m["component"] == "trainer"]
    assert steps == sorted(set(steps)) == [1, 2, 3, 4]
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in (out / "model").iterdir()) == ["config.json"]


WAITS = "waiting for the topics small.collapsed, small.dead-letters"


async def test_up_says_which_topics_it_waits_for_and_goes_on_once_somebody_creates_them(
    supervised: Supervised,
) -> None:
    supervisor = supervised.up(MENTOR_STREAM__TOPICS__CREATE="false")
    assert supervisor.stdout is not None
    assert WAITS in await anyio.to_thread.run_sync(supervisor.stdout.readline)
    assert children(supervisor.pid) == []
    config = read_config(supervised.directory / "config.toml")
    async with connect(config.run.broker) as broker:
        await broker.create_topics(config.of(TopicsConfig).specs(config.run.name))
    code, output = await ending(supervisor)
    assert code == 0, output
    assert "0.000  →  1.000" in output


async def test_up_can_be_stopped_while_it_waits_for_topics(supervised: Supervised) -> None:
    supervisor = supervised.up(MENTOR_STREAM__TOPICS__CREATE="false")
    assert supervisor.stdout is not None
    assert WAITS in await anyio.to_thread.run_sync(supervisor.stdout.readline)
    supervisor.send_signal(signal.SIGINT)
    code, output = await ending(supervisor)
    assert code == 130
    assert "Traceback" not in output


async def test_a_component_that_keeps_dying_stops_the_run_and_is_named(supervised: Supervised) -> None:
    supervisor = supervised.up("sh", "-c", "echo out of ideas; exit 7")
    code, output = await ending(supervisor)
    assert code == 1
    assert "died 3 times within 300 s" in output
    assert "ended with exit code 7" in output
    assert "out of ideas" in output
    assert str(supervised.directory / "out" / "logs") in output


async def test_a_mentor_and_an_evaluator_that_keep_dying_do_not_stop_the_run(supervised: Supervised) -> None:
    supervisor = supervised.up(STAND_IN_MENTOR="die", STAND_IN_EVALUATE="die")
    code, output = await ending(supervisor)
    assert code == 0, output
    assert "mentor ended with exit code 7" in output
    assert "evaluator ended with exit code 7" in output
    assert (supervised.directory / "out" / "summary.json").exists()


@pytest.mark.parametrize(("request_to_stop", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_stopped_supervisor_leaves_no_process(
    supervised: Supervised, request_to_stop: signal.Signals, code: int
) -> None:
    supervisor = supervised.up(*PATIENT)
    await until(lambda: len(children(supervisor.pid)) == COMPONENTS)
    pids = children(supervisor.pid)
    supervisor.send_signal(request_to_stop)
    assert (await ending(supervisor))[0] == code
    assert not any(map(alive, pids))


async def test_a_second_ctrl_c_kills_what_does_not_stop(supervised: Supervised) -> None:
    supervisor = supervised.up("sh", "-c", "trap '' TERM; while :; do sleep 600; done")
    await until(lambda: len(children(supervisor.pid)) == COMPONENTS)
    pids = children(supervisor.pid)
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.stdout is not None
    while "once more kills" not in supervisor.stdout.readline():
        assert supervisor.poll() is None
    supervisor.send_signal(signal.SIGINT)
    assert (await ending(supervisor))[0] == 130
    assert not any(map(alive, pids))


async def test_components_do_not_outlive_a_killed_supervisor(supervised: Supervised) -> None:
    supervisor = supervised.up(*PATIENT)
    await until(lambda: len(children(supervisor.pid)) == COMPONENTS)
    pids = children(supervisor.pid)
    supervisor.kill()
    await until(lambda: not any(map(alive, pids)))


async def test_a_second_up_of_a_run_is_refused_while_the_first_one_lives(supervised: Supervised) -> None:
    first = supervised.up(*PATIENT)
    await until(lambda: len(children(first.pid)) == COMPONENTS)
    code, output = await ending(supervised.up(*PATIENT))
    assert code == 1
    assert f"another mentor-stream up (process {first.pid}) is running" in output
    assert len(children(first.pid)) == COMPONENTS


def process_of(component: str, supervisor: int) -> int | None:
    """The component's process, found by its command line: not there before it is executed."""
    for pid in children(supervisor):
        if component.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            return pid
    return None


async def test_a_second_up_of_the_same_run_is_refused_whatever_its_directory(
    supervised: Supervised, tmp_path: Path
) -> None:
    first = supervised.up(STAND_IN_TRAIN="hang")
    await until(lambda: "train starts" in supervised.log("trainer"))
    elsewhere = tmp_path / "elsewhere"
    code, output = await ending(supervised.up(MENTOR_STREAM__RUN__DIRECTORY=str(elsewhere)))
    assert code == 1
    assert "run.name is 'small': on this broker that run has its up already" in output
    assert f"process {first.pid}" in output
    assert "set run.name and run.directory to others" in output
    assert list((elsewhere / "logs").iterdir()) == [], "no component was started"
    first.kill()
    second = supervised.up()
    code, output = await ending(second)
    assert code == 0, output
