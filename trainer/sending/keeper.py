"""The sending process, started beside rank 0, started again when it dies, gone with the trainer."""

import errno
import ipaddress
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from mentor_stream.config import ConfigError, RunConfig
from mentor_stream.snapshots import StoreError
from mentor_stream.weights import address
from trainer import launch

PROGRAM = (sys.executable, "-m", "trainer.sending")
DEATHS = 5
"""In a row, each before it lived for so long:"""
LIFE_SECONDS = 600.0
PAUSES = (0.0, 1.0, 2.0, 5.0)
"""Before it is started again; the last one from then on."""
BIND_SECONDS = 15.0
"""For a port that the sender of a trainer before us has not given back yet."""

log = logging.getLogger(__name__)


@contextmanager
def beside(run: RunConfig, directory: Path) -> Generator["Keeper | None"]:
    """The process that sends the snapshots in `directory`, where the run wants one. Raises ConfigError."""
    if run.weights_from is None:
        yield None
        return
    keeper = Keeper(run.weights_from, directory)
    try:
        yield keeper
    finally:
        keeper.close()


class Keeper:
    """Of one sending process. The socket that listens is ours: who comes while it is started again waits."""

    def __init__(self, where: str, directory: Path, program: Sequence[str] = PROGRAM) -> None:
        """Raises ConfigError when nobody can listen there."""
        self._where, self._directory, self._program = where, directory, program
        self._socket, self._host = listening(where)
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = Event()
        self._failure: str | None = None
        # The thread starts it and lives as long as this process: it is what the child must not outlive.
        self._thread = Thread(target=self._keep, daemon=True, name="sending")
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Of the process, once there is one."""
        return self._process.pid if self._process else None

    def check(self) -> None:
        """Raises StoreError when it is not started again: servers would stay on old policies for good."""
        if self._failure is not None:
            raise StoreError(self._failure)

    def close(self) -> None:
        """End it."""
        self._ended.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join()
        self._socket.close()

    def _keep(self) -> None:
        deaths = 0
        while not self._ended.is_set():
            began = time.monotonic()
            code = self._run()
            if self._ended.is_set():
                return
            deaths = deaths + 1 if time.monotonic() - began < LIFE_SECONDS else 1
            if deaths == DEATHS:
                self._failure = (
                    f"run.weights_from is {self._where!r}: the process that sends weights ended {DEATHS} "
                    f"times, at last with exit code {code}. Its words are above"
                )
                return
            log.warning("the process that sends weights ended with exit code %d and is started again", code)
            self._ended.wait(PAUSES[min(deaths, len(PAUSES)) - 1])

    def _run(self) -> int:
        descriptor = self._socket.fileno()
        self._process = subprocess.Popen(
            [*self._program, str(self._directory), self._host, str(descriptor)],
            env=launch.of_child(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=[descriptor],
        )
        if self._ended.is_set():  # before there was one to end
            self._process.kill()
        return self._process.wait()


def listening(where: str) -> tuple[socket.socket, str]:
    """A socket that listens there, and the host by which this machine itself reaches it. Raises ConfigError.

    Names of this machine are not looked up: inside a container or behind a Service they may not be ours. Only
    what is a loopback by its name is for this machine alone.
    """
    host, port = address.split(where)
    until = time.monotonic() + BIND_SECONDS
    while True:
        try:
            if _is_loopback(host):
                place = "::1" if ":" in host else "127.0.0.1"
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                return socket.create_server((place, port), family=family, backlog=128), place
            if socket.has_dualstack_ipv6():
                family = socket.AF_INET6
                return socket.create_server(
                    ("", port), family=family, backlog=128, dualstack_ipv6=True
                ), "127.0.0.1"
            return socket.create_server(("", port), backlog=128), "127.0.0.1"
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise ConfigError(
                    f"run.weights_from is {where!r}: the trainer cannot listen on port {port} "
                    f"({error.strerror}). Choose another port, or end who has it"
                ) from error
        time.sleep(0.2)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
