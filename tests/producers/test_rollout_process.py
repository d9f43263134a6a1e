import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

import schemas
from mentor_stream import topics
from mentor_stream.stream import Stream, connect
from tests.builders import a_query
from tests.metrics.asking import address_of, ask
from tests.producers.scripted import arrived, group_ids, release
from tests.streams import everything

pytestmark = pytest.mark.anyio

CONFIG = """
[run]
name = "test"
directory = "{directory}"
broker = "sqlite:///{directory}/stream.db?lease=1"
policy = "{policy}"

[prompt]
max_prompt_tokens = 16

[rollout]
group_size = 2
max_new_tokens = 40
batch_queries = 4
engine = {{ kind = "transformers", device = "cpu", num_threads = 1 }}

[reward]
verifier = {{ kind = "exact" }}
workers = 1
"""
START = (
    "import sys; from pathlib import Path; from mentor_stream.config import load;"
    "from producers.rollout import component; component.run(load(Path(sys.argv[1]), component.sections))"
)


@contextmanager
def rollout(config: Path) -> Generator[subprocess.Popen[bytes]]:
    """A rollout process; killed at the end if it still runs."""
    process = subprocess.Popen([sys.executable, "-c", START, str(config)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        yield stream


@pytest.fixture
def config(tmp_path: Path, tiny_policy: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG.format(directory=tmp_path, policy=tiny_policy))
    return path


async def all_groups(stream: Stream) -> list[schemas.Group]:
    return [*await everything(stream, topics.GROUPS), *await everything(stream, topics.COLLAPSED)]


async def test_a_worker_killed_in_the_middle_leaves_every_query_with_exactly_one_group_id(
    stream: Stream, config: Path, tmp_path: Path, tiny_policy: Path
) -> None:
    queries = [a_query(f"{n % 10} + {n // 10} ?", "5", position=n) for n in range(100)]
    for query in queries:
        await stream.publish(topics.QUERIES, query)
    await release(stream, tmp_path, 0, policy=tiny_policy)
    with rollout(config) as killed:
        await arrived(stream, topics.COLLAPSED, 8, seconds=90)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    before = group_ids(await all_groups(stream))
    assert len(before) < len(queries)
    with rollout(config):
        await arrived_distinct(stream, len(queries))
    groups = await all_groups(stream)
    assert group_ids(groups) == {schemas.group_id("test", q.query_id, q.attempt) for q in queries}
    assert {t.policy[0].policy_version for g in groups for t in g.trajectories} == {0}


async def arrived_distinct(stream: Stream, count: int) -> None:
    with anyio.fail_after(120):
        while len(group_ids(await all_groups(stream))) < count:
            await anyio.sleep(0.05)


async def test_a_worker_asked_to_stop_leaves_promptly(
    stream: Stream, config: Path, tmp_path: Path, tiny_policy: Path
) -> None:
    for n in range(40):
        await stream.publish(topics.QUERIES, a_query("2 + 4 ?", "6", position=n))
    await release(stream, tmp_path, 0, policy=tiny_policy)
    with rollout(config) as process:
        await arrived(stream, topics.COLLAPSED, 1, seconds=90)
        process.terminate()
        assert process.wait(20) == 128 + signal.SIGTERM


async def test_a_worker_is_ready_once_it_has_a_policy_and_counts_what_it_samples(
    stream: Stream, config: Path, tmp_path: Path, tiny_policy: Path
) -> None:
    with rollout(config):
        address = await to_thread.run_sync(address_of, tmp_path, "rollout")
        await until(address, "/readyz", "a policy: not yet\n")
        assert ask(address, "/healthz").status == 200
        await release(stream, tmp_path, 0, policy=tiny_policy)
        await until(address, "/readyz", "ok\n")
        await stream.publish(topics.QUERIES, a_query("2 + 4 ?", "6"))
        await arrived(stream, topics.COLLAPSED, 1, seconds=90)
        await until(
            address,
            "/metrics",
            'rollout_trajectories_total{component="rollout",run="test",verdict="wrong"} 2.0',
        )
        assert (
            'mentor_stream_rollout_sampling_seconds_count{component="rollout",run="test"} 1.0'
            in ask(address, "/metrics").body
        )


async def until(address: str, path: str, text: str) -> None:
    """Wait until a page has this text."""
    with anyio.fail_after(90):
        while text not in ask(address, path).body:
            await anyio.sleep(0.05)
