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
from contextlib import suppress

from mentor_stream.config import ConfigError
from mentor_stream.exits import MISTAKE, PASSING
from trainer import ending, stopping

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
    """Run it once for each rank, to the end of all; the exit code, 0 if none failed (see `exit_code`).

    Where one fails the others are killed after `grace` seconds: they would wait for it, some for days.
    """
    with ending.expected():
        codes = _run(command, ranks, grace)
        if found := ending.told():
            ending.say(found)
            return found.code
    return exit_code(codes)


def exit_code(codes: Sequence[int]) -> int:
    """What all came to, of the exit codes of ranks in the order in which they ended (negative: signals).

    One that knows what is wrong counts before those that end of its end.
    """
    failed = [code if code > 0 else 128 - code for code in codes if code]
    foreseen = [code for code in failed if code in (MISTAKE, PASSING)]
    return next(iter(foreseen + failed), 0)


def _run(command: Sequence[str], ranks: int, grace: float) -> list[int]:
    """Their exit codes in the order in which they ended."""
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
    codes: list[int] = []
    while running:
        pid, status = os.wait()
        rank, code = running.pop(pid), os.waitstatus_to_exitcode(status)
        started[rank].returncode = code
        failed = code and exit_code([code]) - 128 not in asked
        if failed and not any(codes) and ending.told() is None:
            sys.stderr.write(f"trainer: rank {rank} of {ranks} ended with {how(code)}; so do the others\n")
        codes.append(code)
        if rank == 0 and -code in asked:  # while it started: it has told nobody to leave
            _kill(started)
        elif failed and end.ident is None:
            end.start()
    end.cancel()
    return codes


def how(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" if code > 0 else signal.Signals(-code).name


def check(ranks: int) -> None:
    """Raise ConfigError where somebody else has started more or fewer of them than there are to be."""
    started = os.environ.get("WORLD_SIZE", "1")
    if started != str(ranks):
        raise ConfigError(
            f"trainer: {started} processes were started, and tensor_parallel x pipeline_parallel x "
            f"context_parallel x data_parallel is {ranks}. Start as many, or set trainer.data_parallel"
        )


def take_part(ranks: int) -> None:
    """Be one of so many. Raises ConfigError where somebody else has started more or fewer."""
    end_with_starter()
    if rank() != 0:  # from its first moment: what is sent to all is for rank 0 to decide about
        stopping.ignore()
    check(ranks)


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
    """By which torch.distributed finds the others (its `env://`)."""
    return of_child(own) | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def of_child(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is to `end_with_starter`, this one; with no thread too many."""
    return {"OMP_NUM_THREADS": "1", **own, _STARTER: str(os.getpid())}


def _kill(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        _pass_on(process, signal.SIGKILL)


def _pass_on(process: "subprocess.Popen[bytes]", received: int) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it has ended this moment
            os.kill(process.pid, received)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
