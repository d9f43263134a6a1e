import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mentor_stream import workers

pytestmark = pytest.mark.anyio
HOSTILE = "tests.hostile:make"


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


async def gone(pid: int) -> None:
    with anyio.fail_after(30):
        while not dead(pid):
            await anyio.sleep(0.01)


def dead(pid: int) -> bool:
    """Whether all threads of the process have ended, its parent's last look at it aside."""
    try:
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z" and threads == 1


async def test_a_payload_comes_back_as_the_handler_leaves_it() -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        for payload in (["x"], [{"a": [1, 2.5, None, b"\x00"]}], ["ü" * 2**20]):
            assert await pool.call(payload) == payload


@pytest.mark.parametrize(
    ("deed", "resource"),
    [
        ("loop", "cpu"),
        ("hold_the_interpreter", "cpu"),
        ("eat_memory", "memory"),
        ("eat_memory_slowly", "memory"),
        ("sleep_for_ever", "clock"),
    ],
)
async def test_a_request_that_uses_up_its_allowance_is_ended_and_named(deed: str, resource: str) -> None:
    timeout = 2.0 if resource == "clock" else 60.0
    async with workers.pool(HOSTILE, size=1, timeout=timeout, cpu_seconds=1, memory_megabytes=512) as pool:
        with pytest.raises(workers.WorkerExhausted) as caught:
            await pool.call(deed)
        assert caught.value.resource == resource
        assert await pool.call(["next"]) == ["next"]


@pytest.mark.parametrize(
    ("deed", "end"),
    [
        ("die", "SIGKILL"),
        ("leave", "exit status 3"),
        ("close_all_pipes", "SIGKILL"),
        ("forge", "wrote into its replies"),
    ],
)
async def test_a_dead_worker_is_reported_and_replaced(deed: str, end: str) -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        with pytest.raises(workers.WorkerDied, match=end):
            await pool.call(deed)
        assert await pool.call(["next"]) == ["next"]


@pytest.mark.parametrize(
    ("deed", "text"),
    [
        ("fail", "ValueError: no such luck"),
        ("exit_politely", "SystemExit: enough"),
        ("unsendable", "object"),
        ("nowhere", "KeyError"),
    ],
)
async def test_a_handler_that_raises_keeps_its_worker(deed: str, text: str) -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        before = await pool.call(["pid"])
        with pytest.raises(workers.WorkerFailed, match=text):
            await pool.call(deed)
        assert await pool.call(["pid"]) == before


async def test_printing_does_not_disturb_the_replies(capfd: pytest.CaptureFixture[str]) -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        assert await pool.call("speak") == "spoken"
        assert await pool.call("read_input") == ""
        assert await pool.call(["next"]) == ["next"]
    out, err = capfd.readouterr()
    assert out == ""
    assert "noise from a child" in err


async def test_cpu_time_of_earlier_requests_does_not_count() -> None:
    async with workers.pool("tests.hostile:make_busy", size=1, cpu_seconds=1, timeout=60) as pool:
        pids = {await pool.call(0.4) for _ in range(6)}
        assert len(pids) == 1


async def test_a_fresh_call_meets_a_process_that_has_served_nobody() -> None:
    async with workers.pool(HOSTILE, size=2) as pool:
        first = await pool.call(["pid"])
        second = await pool.call(["pid"], fresh=True)
        assert first != second
        await gone(first)


async def test_no_more_workers_than_the_pool_allows_run_at_once() -> None:
    async with workers.pool("tests.hostile:make_busy", size=2) as pool, anyio.create_task_group() as tasks:
        pids: set[int] = set()

        async def call() -> None:
            pids.add(await pool.call(0.01))

        for _ in range(20):
            tasks.start_soon(call)
    assert len(pids) <= 2


async def test_a_cancelled_call_leaves_no_process_and_a_usable_pool() -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        pid = await pool.call(["pid"])
        with anyio.move_on_after(0.2):
            await pool.call("sleep_for_ever")
        await gone(pid)
        assert await pool.call(["next"]) == ["next"]


async def test_what_a_handler_started_ends_with_its_worker() -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        child = await pool.call("start_a_child")
        assert not dead(child)
    await gone(child)


async def test_an_idle_worker_killed_from_outside_costs_the_next_call_nothing() -> None:
    async with workers.pool(HOSTILE, size=1) as pool:
        pid = await pool.call(["pid"])
        os.kill(pid, signal.SIGKILL)
        await gone(pid)
        assert await pool.call(["next"]) == ["next"]


@pytest.mark.parametrize(
    ("factory", "argument", "text"),
    [
        (HOSTILE, "broken", "RuntimeError: no tools here"),
        ("tests.hostile:nothing", None, "nothing"),
        ("tests.absent:make", None, "tests.absent"),
    ],
)
async def test_a_handler_that_cannot_be_made_is_named(factory: str, argument: str | None, text: str) -> None:
    with pytest.raises(workers.WorkerDied, match=f"could not start.*{text}"):
        async with workers.pool(factory, argument):
            pass


PARENT = """
import anyio
from mentor_stream import workers

async def main():
    async with workers.pool("tests.hostile:make", size=1, cpu_seconds=1, timeout=10**6) as pool:
        print(await pool.call(["pid"]), flush=True)
        await pool.call({deed!r})

anyio.run(main, backend="trio")
"""


@pytest.mark.parametrize("deed", ["sleep_for_ever", "loop", "hold_the_interpreter"])
async def test_workers_die_with_a_parent_that_is_killed(deed: str) -> None:
    command = [sys.executable, "-c", PARENT.format(deed=deed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    await gone(pid)
