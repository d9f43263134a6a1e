"""The ranks of one machine as one process: it starts them, passes signals on to rank 0 and ends as they end.

Where RANK is set somebody else has started them, such as torchrun on several machines. For one it will not
do: it dies of the signal to finish, kills ranks that take half a minute over their last checkpoint, and when
it is killed its ranks train on beside those of the next start.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from mentor_stream.config import ConfigError

GRACE = 10.0
"""Seconds that the other ranks have to say what they know of it once one has failed."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
_STARTER = "MENTOR_STREAM_STARTER"
"""Its process id, for ranks that it started."""
_PR_SET_PDEATHSIG = 1


def is_rank() -> bool:
    """Whether this process was started as a rank."""
    return "RANK" in os.environ


def rank() -> int:
    """This process's, 0 where there are no others."""
    return int(os.environ.get("RANK", "0"))


def run(command: Sequence[str], ranks: int, grace: float = GRACE) -> int:
    """Run it once for each rank, to the end of all; the exit code of the first that failed, or 0.

    Where one fails the others are killed after `grace` seconds: they would wait for it, some for days.
    """
    port = _free_port()
    started = [_start(command, rank, ranks, port) for rank in range(ranks)]
    asked: list[int] = []
    """Signals that were passed on: who ends by them was stopped, and has not failed."""

    def pass_on(received: int, _: object) -> None:
        asked.append(received)
        _pass_on(started[0], received)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    running = {process.pid: rank for rank, process in enumerate(started)}
    end = threading.Timer(grace, _kill, [started])
    failed = 0
    while running:
        pid, status = os.wait()
        rank, code = running.pop(pid), os.waitstatus_to_exitcode(status)
        started[rank].returncode = code
        if code and not failed:
            failed = code if code > 0 else 128 - code
            if failed - 128 in asked:
                continue
            how = f"exit code {code}" if code > 0 else signal.Signals(-code).name
            sys.stderr.write(f"trainer: rank {rank} of {ranks} ended with {how}; so do the others\n")
            end.start()
    end.cancel()
    return failed


def check(ranks: int) -> None:
    """Raise ConfigError where somebody else has started more or fewer of them than there are to be."""
    started = os.environ.get("WORLD_SIZE", "1")
    if started != str(ranks):
        raise ConfigError(
            f"trainer: {started} processes were started, and tensor_parallel x pipeline_parallel x "
            f"context_parallel x data_parallel is {ranks}. Start as many, or set trainer.data_parallel"
        )


def end_with_starter() -> None:
    """Be killed when whoever started this process is: ranks would train on beside those of the next start."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.environ.get(_STARTER, str(os.getppid())) != str(os.getppid()):
        sys.exit("trainer: whoever started this rank is gone")


def _start(command: Sequence[str], rank: int, ranks: int, port: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        env=_environment(os.environ, rank, ranks, port),
        stdin=None if rank == 0 else subprocess.DEVNULL,  # its end tells rank 0 that a supervisor is gone
    )


def _environment(own: Mapping[str, str], rank: int, ranks: int, port: int) -> dict[str, str]:
    """By which torch.distributed finds the others (its `env://`), and no thread too many."""
    return {"OMP_NUM_THREADS": "1", **own} | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        _STARTER: str(os.getpid()),
    }


def _kill(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        _pass_on(process, signal.SIGKILL)


def _pass_on(process: "subprocess.Popen[bytes]", received: int) -> None:
    if process.returncode is None:
        os.kill(process.pid, received)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
