"""A worker that starts its own server, and takes it along when it dies."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from mentor_stream import topics
from mentor_stream.config import ConfigError
from mentor_stream.stream import Stream, connect
from producers.engines.base import Demand
from producers.engines.vllm import Config
from producers.engines.vllm.engine import VllmEngine
from tests.builders import a_query
from tests.producers.conftest import write_policy
from tests.producers.scripted import arrived, eventually, release
from tests.producers.test_rollout_process import START
from tests.producers.vllm.serving import ARGS, ENVIRONMENT, needs_vllm, program

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
group_size = 4
max_new_tokens = 40
engine = {{ kind = "vllm", command = ["{vllm}", "serve"], args = {args}, env = {{ {env} }} }}

[reward]
verifier = {{ kind = "exact" }}
workers = 1
"""


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        yield stream


@pytest.mark.slow
@needs_vllm
async def test_a_worker_samples_with_a_server_of_its_own_that_does_not_outlive_a_kill(
    stream: Stream, tmp_path: Path
) -> None:
    policy = tmp_path / "policy"
    write_policy(
        policy, hidden_size=64, num_attention_heads=2, tie_word_embeddings=True, max_position_embeddings=128
    )
    env = ", ".join(f'{name} = "{value}"' for name, value in ENVIRONMENT.items())
    text = CONFIG.format(directory=tmp_path, policy=policy, vllm=program(), args=list(ARGS), env=env)
    (tmp_path / "run.toml").write_text(text)
    for n in range(12):
        await stream.publish(topics.QUERIES, a_query("2 + 4 ?", "6", position=n))
    await release(stream, tmp_path, 0, policy=policy)
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-c", START, str(tmp_path / "run.toml")], stderr=log, stdout=log
        )
    try:
        groups = await arrived(stream, topics.COLLAPSED, 10, seconds=240)
        started = psutil.Process(worker.pid).children(recursive=True)
        assert [p for p in started if "EngineCore" in p.name() or "EngineCore" in " ".join(p.cmdline())]
    except TimeoutError:
        raise AssertionError((tmp_path / "worker.log").read_text()[-4000:]) from None
    finally:
        worker.kill()
        worker.wait()
    assert {run.policy_version for g in groups for t in g.trajectories for run in t.policy} == {0}
    await eventually(lambda: not [p for p in started if is_alive(p)])


def is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


async def test_a_server_that_keeps_dying_ends_the_worker_and_says_what_it_was(tiny_policy: Path) -> None:
    config = Config(command=(sys.executable, "-c", "import sys; sys.exit(7)"))
    engine = VllmEngine(config, Demand(tiny_policy, samples=2, prompt_tokens=4, completion_tokens=4))
    with pytest.raises(ExceptionGroup) as caught:
        async with engine.running():
            pass
    assert caught.group_contains(ConfigError, match="ended 3 times, at last with exit code 7")


def test_a_leash_takes_along_whatever_its_command_started(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    )
    leash = subprocess.Popen(
        [sys.executable, "-m", "producers.engines.vllm.leash", sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert leash.stdin is not None
    assert leash.stdout is not None
    grandchild = psutil.Process(int(leash.stdout.readline()))
    leash.stdin.close()
    assert leash.wait(10) == -signal.SIGKILL
    psutil.wait_procs([grandchild], timeout=10)
    assert not is_alive(grandchild)
