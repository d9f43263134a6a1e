"""Components as processes: what they tell of themselves at work, stuck, and without a broker."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from tests.cluster import Cluster, needs_nodes
from tests.metrics.asking import address_of, ask, until
from tests.runs import as_process, write_config

STUCK = """
import sys, time
from pathlib import Path
from mentor_stream.component import load_config
from mentor_stream.process import work

async def main(config):
    import anyio
    await anyio.to_thread.run_sync(sys.stdin.readline)
    time.sleep(1000)

work("feeder", main, load_config(Path(sys.argv[1])))
"""
IDLE = """
import sys
from pathlib import Path
import anyio
from mentor_stream import telemetry
from mentor_stream.component import load_config
from mentor_stream.process import work
from mentor_stream.stream import opened

async def main(config):
    async with opened(config, "feeder") as stream, anyio.create_task_group() as tasks:
        await telemetry.offer(stream, {"fed": 0})
        tasks.start_soon(telemetry.watch, stream)
        while True:
            await telemetry.offer(stream, {"fed": 0})
            await anyio.sleep(0.2)

work("feeder", main, load_config(Path(sys.argv[1])))
"""
"""What every component does beside its work."""
QUESTIONS = 8


@contextmanager
def process(*command: str) -> Generator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield started
    finally:
        started.kill()
        sys.stdout.write(started.communicate()[1] or "")  # shown where a test fails


@contextmanager
def feeding(config: str) -> Generator[subprocess.Popen[str]]:
    with process("-m", "mentor_stream.cli", "feed", config) as feeder:
        yield feeder


def questions(directory: Path, *, broker: str = "", telemetry: str = "") -> str:
    """A config with questions, fewer than the feeder may put out."""
    rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(QUESTIONS)]
    (directory / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = Path(write_config(directory, broker=broker))
    reward = '[reward]\nverifier = { kind = "exact" }'
    settings = f"{path.read_text()}\n{reward}\n[telemetry]\n{telemetry}\n"
    path.write_text(
        settings.replace("[data]", "max_versions = 1\nbatch_groups = 1\nmax_staleness = 3\n[data]")
    )
    return str(path)


def samples(address: str) -> dict[str, float]:
    """The sum over each series that a component serves."""
    found: dict[str, float] = {}
    for family in parse(ask(address, "/metrics").body):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def test_a_component_at_work_serves_what_it_does(tmp_path: Path) -> None:
    with feeding(questions(tmp_path)) as feeder:
        address = address_of(tmp_path / "run", "feeder")
        until(lambda: ask(address, "/readyz").status == 200)
        until(lambda: samples(address).get("mentor_stream_feeder_fed_total", 0) == 4)
        served = samples(address)
        assert served["mentor_stream_alive"] == served["mentor_stream_ready"] == 1
        assert served["mentor_stream_publish_seconds_count"] >= 1
        assert served["mentor_stream_dead_letters_total"] == 0
        assert served["process_resident_memory_bytes"] > 1e6
        assert ask(address, "/healthz").status == 200
        feeder.send_signal(signal.SIGTERM)
        assert feeder.wait(timeout=60) == 128 + signal.SIGTERM
    assert list((tmp_path / "run" / "telemetry").iterdir()) == []


def test_a_component_whose_event_loop_hangs_is_told_dead(tmp_path: Path) -> None:
    config = questions(tmp_path, telemetry="stuck_after_seconds = 2")
    with process("-c", STUCK, config) as component:
        address = address_of(tmp_path / "run", "feeder")
        until(lambda: samples(address).get("mentor_stream_event_loop_late_seconds") is not None)
        assert ask(address, "/healthz").status == 200
        assert component.stdin is not None
        component.stdin.write("hang\n")
        component.stdin.flush()
        until(lambda: ask(address, "/healthz").status == 503)
        assert "the event loop has not turned for" in ask(address, "/healthz").body
        assert samples(address)["mentor_stream_alive"] == 0


def test_a_port_that_is_taken_is_an_error_of_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = as_process("feed", questions(tmp_path, telemetry=f'listen = "127.0.0.1:{port}"'))
    assert done.returncode == 2
    assert f"mentor-stream: telemetry.listen is '127.0.0.1:{port}': Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_environment_says_where_to_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "MENTOR_STREAM__TELEMETRY__LISTEN", "nowhere")
    done = as_process("feed", questions(tmp_path))
    assert done.returncode == 2
    variable = "MENTOR_STREAM__TELEMETRY__LISTEN"
    assert f"telemetry.listen ({variable} in the environment) is 'nowhere': expected HOST" in done.stderr


@needs_nodes
def test_a_component_without_its_broker_is_alive_and_not_ready_until_it_is_back(tmp_path: Path) -> None:
    with (
        Cluster(tmp_path / "kafka") as cluster,
        process("-c", IDLE, questions(tmp_path, broker=f"{cluster.url}?connect_timeout=3")) as component,
    ):
        address = address_of(tmp_path / "run", "feeder")
        until(lambda: ask(address, "/readyz").status == 200)
        cluster.kill(1)
        until(lambda: ask(address, "/readyz").status == 503)
        assert "the broker: " in ask(address, "/readyz").body
        assert ask(address, "/healthz").status == 200
        cluster.start()
        until(lambda: ask(address, "/readyz").status == 200)
        assert component.poll() is None
