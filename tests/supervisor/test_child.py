"""One component's process: kept alive, stopped, given up."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from mentor_stream.supervisor.child import Child, GaveUp, State, how_it_ended, last_lines
from mentor_stream.supervisor.config import SupervisorConfig
from tests.supervisor.conftest import alive, until

pytestmark = pytest.mark.anyio
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def a_child(
    directory: Path,
    *command: str,
    notes: list[str] | None = None,
    essential: bool = True,
    **settings: float,
) -> Child:
    noted = notes if notes is not None else []
    return Child(
        name="rollout",
        command=command,
        log=directory / "rollout.log",
        environment=dict(os.environ),
        inherited=1,
        config=SupervisorConfig.model_validate({"backoff_seconds": 0.01, "restarts": 2, **settings}),
        note=noted.append,
        essential=essential,
    )


async def over(code: int) -> bool:
    return code == 0


async def not_over(_: int) -> bool:
    return False


async def test_a_component_whose_work_is_over_is_not_started_again(tmp_path: Path) -> None:
    child = a_child(tmp_path, "sh", "-c", "echo once")
    await child.keep_alive(over)
    assert child.state is State.FINISHED
    assert child.log.read_text() == "once\n"


async def test_a_component_killed_by_kill_9_is_started_again(tmp_path: Path) -> None:
    notes: list[str] = []
    child = a_child(tmp_path, "sleep", "600", notes=notes)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.keep_alive, over)
        await until(lambda: child.state is State.RUNNING)
        assert child.process is not None
        first = child.process.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.process is not None and child.process.pid != first)
        tasks.cancel_scope.cancel()
    assert notes[0].startswith("rollout was killed by SIGKILL")
    assert child.state is State.STOPPED


async def test_a_component_that_keeps_dying_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    child = a_child(tmp_path, "sh", "-c", "echo 'no such [model]' >&2; exit 3")
    with pytest.raises(GaveUp) as failure:
        await child.keep_alive(over)
    text = str(failure.value)
    assert "rollout died 3 times within 300 s (supervisor.restarts is 2)" in text
    assert "ended with exit code 3" in text
    assert f"{child.log}" in text
    assert text.endswith("no such [model]")
    assert child.state is State.FAILED


async def test_a_mistake_that_a_restart_cannot_mend_is_not_retried(tmp_path: Path) -> None:
    notes: list[str] = []
    child = a_child(tmp_path, "sh", "-c", "echo run.policy is no model >&2; exit 2", notes=notes)
    with pytest.raises(GaveUp) as failure:
        await child.keep_alive(over)
    assert child.log.read_text() == "run.policy is no model\n", "it was started once"
    text = str(failure.value)
    assert text.startswith("rollout ended with exit code 2: what its log names must be mended")
    assert text.endswith("run.policy is no model")
    assert (child.state, notes) == (State.FAILED, [])


async def test_trouble_that_may_pass_is_retried(tmp_path: Path) -> None:
    child = a_child(tmp_path, "sh", "-c", "echo no broker >&2; exit 75")
    with pytest.raises(GaveUp, match="died 3 times"):
        await child.keep_alive(over)


async def test_a_mistake_of_a_component_the_run_can_do_without_waits_for_who_mends_it(tmp_path: Path) -> None:
    mended, notes = tmp_path / "mended", list[str]()
    command = ("sh", "-c", f"test -e {mended} && exit 0; exit 2")
    child = a_child(tmp_path, *command, notes=notes, essential=False, backoff_max_seconds=0.01)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.keep_alive, over)
        await until(lambda: bool(notes))
        mended.touch()
    assert child.state is State.FINISHED


async def test_a_component_the_run_can_do_without_is_tried_again_for_ever(tmp_path: Path) -> None:
    notes: list[str] = []
    command = ("sh", "-c", "echo alive; exit 3")
    child = a_child(tmp_path, *command, notes=notes, essential=False, restarts=1, backoff_max_seconds=0.01)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.keep_alive, over)
        await until(lambda: len(notes) > 4)
        tasks.cancel_scope.cancel()
    assert all("ended with exit code 3" in note for note in notes)


async def test_an_end_before_the_run_is_over_counts_as_a_death(tmp_path: Path) -> None:
    with pytest.raises(GaveUp, match="ended before the run was over"):
        await a_child(tmp_path, "true").keep_alive(not_over)


async def test_a_component_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    notes: list[str] = []
    child = a_child(tmp_path, sys.executable, "-c", DEAF, notes=notes, grace_seconds=0.2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.keep_alive, over)
        await until(lambda: child.log.exists() and "deaf" in child.log.read_text())
        assert child.process is not None
        pid = child.process.pid
        tasks.cancel_scope.cancel()
    assert not alive(pid)
    assert notes == ["rollout did not stop within 0.2 s and was killed"]


async def test_what_a_dead_component_had_started_does_not_outlive_it(tmp_path: Path) -> None:
    child = a_child(tmp_path, "sh", "-c", "sleep 600 & echo $!; kill -9 $$", restarts=0)
    with pytest.raises(GaveUp):
        await child.keep_alive(over)
    await until(lambda: not alive(int(child.log.read_text())))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "was killed by SIGKILL, perhaps for want of memory"),
        (-11, "was killed by SIGSEGV"),
        (1, "ended with exit code 1"),
        (143, "was stopped from outside by SIGTERM"),
        (255, "ended with exit code 255"),
    ],
)
def test_an_exit_code_is_said_in_words(code: int, words: str) -> None:
    assert how_it_ended(code) == words


def test_only_the_end_of_a_long_log_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff" * 100_000 + b"\n" + b"".join(b"line %d\n" % i for i in range(100)))
    assert last_lines(log, 2) == ["line 98", "line 99"]
