"""A server of our own: started, watched, started again, and gone when this process is, however it ends."""

import logging
import os
import signal
import socket
import sys
from subprocess import PIPE

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import Process, TaskStatus

from mentor_stream.config import ConfigError
from producers.engines.base import Demand
from producers.engines.vllm.config import Config
from producers.engines.vllm.fitness import DEV_MODE, FLAGS

DEATHS = 3
"""In a row, each before it lived for so long:"""
LIFE_SECONDS = 600.0

log = logging.getLogger(__name__)


class Child:
    """One `vllm serve` on a port of this machine that only this machine reaches."""

    def __init__(self, config: Config, demand: Demand) -> None:
        self._config, self._demand = config, demand
        self._port = free_port()
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Where it answers once it is ready."""
        return f"http://127.0.0.1:{self._port}"

    async def keep_alive(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Run it until cancelled. Raises ConfigError when it keeps dying."""
        deaths = 0
        while True:
            began = anyio.current_time()
            code = await self._run(task_status if not deaths else TASK_STATUS_IGNORED)
            deaths = deaths + 1 if anyio.current_time() - began < LIFE_SECONDS else 1
            if deaths == DEATHS:
                raise ConfigError(
                    f"rollout.engine.command: {' '.join(self._config.command)} ended {DEATHS} times, at last "
                    f"with exit code {code}. Its words are above; rollout.engine.args and env go to it."
                )
            log.warning("vLLM ended with exit code %d and is started again", code)

    def kill(self) -> None:
        """End it, to be started again: it does not answer."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _run(self, task_status: TaskStatus[None]) -> int:
        async with await anyio.open_process(
            command(self._config, self._demand, self._port),
            stdin=PIPE,
            stdout=sys.stderr,  # the standard output is the worker's own
            stderr=None,
            env=os.environ | environment(self._config),
            start_new_session=True,
        ) as process:
            self._process = process
            task_status.started()
            try:
                return await process.wait()
            finally:
                self._process = None
                with anyio.CancelScope(shield=True):
                    assert process.stdin is not None
                    await process.stdin.aclose()  # the leash ends all of it
                    await process.wait()


def command(config: Config, demand: Demand, port: int) -> list[str]:
    """What is run. A user's own flags come last: they win."""
    leash = [sys.executable, "-m", f"{__package__}.leash"]
    place = ["--host", "127.0.0.1", "--port", str(port)]
    quiet = ["--disable-uvicorn-access-log"]  # a line for every request
    return [*leash, *config.command, str(demand.policy), *place, *quiet, *FLAGS, *config.args]


def environment(config: Config) -> dict[str, str]:
    """What it finds there beside our own environment: it fetches nothing and reports to nobody."""
    return {DEV_MODE: "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"} | config.env


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
