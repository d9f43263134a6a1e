"""Real `vllm serve` processes on this machine's CPU."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from producers.engines.vllm.child import free_port
from producers.engines.vllm.fitness import FLAGS

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {
    "VLLM_SERVER_DEV_MODE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # several servers would all choose the first core
    "OMP_NUM_THREADS": "1",
}
ARGS = ("--dtype=float32", "--max-num-seqs=32", "--enforce-eager")


def program() -> str | None:
    """The `vllm` to run: of `make vllm`, or what VLLM or the path names."""
    own = ROOT / ".venv-vllm" / "bin" / "vllm"
    return os.environ.get("VLLM") or (str(own) if own.exists() else shutil.which("vllm"))


needs_vllm = pytest.mark.skipif(program() is None, reason="needs vLLM: `make vllm` installs it")


class Serving:
    """One server; gone at the end, and with this process."""

    def __init__(self, policy: Path, log: Path, *args: str, env: dict[str, str] | None = None) -> None:
        self.policy, self.log, self.args, self.port = policy, log, args, free_port()
        self.env = env or {}
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin to start."""
        command = [sys.executable, "-m", "producers.engines.vllm.leash", str(program()), "serve"]
        place = [str(self.policy), "--host=127.0.0.1", f"--port={self.port}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *place, *FLAGS, *ARGS, *self.args],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | ENVIRONMENT | self.env,
                start_new_session=True,
                cwd=ROOT,
            )

    def wait(self, seconds: float = 240) -> None:
        """Until it answers."""
        end = time.monotonic() + seconds
        while not answers(self.url + "/health"):
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"vLLM did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.2)

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self.signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


def answers(url: str, **options: Any) -> bool:
    """Whether there is a success to be had at a URL."""
    try:
        with urllib.request.urlopen(url, timeout=5, **options) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def is_open(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
