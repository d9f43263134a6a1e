"""One worker process: makes its handler once, then answers requests until its parent is gone.

Started by pool.py as `python -m mentor_stream.workers.process`. Requests come in on the standard input and
replies leave on the standard output, as frames.py has them; both are moved out of the way first, so that
whatever the handler prints goes to the standard error.
"""

import contextlib
import importlib
import math
import os
import resource
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

import msgspec

from mentor_stream.config import ConfigError
from mentor_stream.plugins import importable_from_here
from mentor_stream.workers.frames import LENGTH, Reply, Request, Setup, frame

Handler = Callable[[Any], Any]
M = TypeVar("M", bound=msgspec.Struct)

OUT_OF_MEMORY = frame(Reply("memory"))  # made while there is some


def main() -> None:
    """Serve the parent; ends with it."""
    requests, replies = _private_pipes()
    threading.Thread(target=_die_with_parent, args=(requests.fileno(),), daemon=True).start()
    setup = _read(requests, Setup)
    handlers: list[Handler] = []
    _write(replies, _reply(lambda: handlers.append(_make(setup))))
    while True:
        request = _read(requests, Request)
        _allow_cpu(request.cpu_seconds)
        _write(replies, _reply(lambda request=request: handlers[0](request.payload)))


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's two ends; descriptors 0 and 1 become an empty input and the standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, replies


def _die_with_parent(requests: int) -> None:
    """Wait for the parent's end to close, then take down this process and whatever it started."""
    poll = select.poll()
    poll.register(requests, 0)  # hang-up is reported unasked, data is not
    poll.poll()
    os.killpg(0, signal.SIGKILL)


def _make(setup: Setup) -> Handler:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if setup.memory_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)  # kept: what a handler starts has limits of its own
        resource.setrlimit(resource.RLIMIT_AS, (setup.memory_bytes, hard))
    importable_from_here()
    module, _, function = setup.factory.partition(":")
    return getattr(importlib.import_module(module), function)(setup.argument)


def _allow_cpu(seconds: int) -> None:
    """Let the next request use this much CPU time; the kernel then ends the process with SIGXCPU.

    The limit counts from the start of the process, so it moves up with every request.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + seconds)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _reply(call: Callable[[], Any]) -> bytes:
    """The frame to answer with, whatever `call` does short of ending the process."""
    try:
        return frame(Reply("result", call()))
    except MemoryError:
        return OUT_OF_MEMORY
    except ConfigError as error:  # a user's mistake needs no traceback
        return frame(Reply("raised", str(error)))
    except BaseException as error:  # SystemExit too: a handler does not decide over its process
        traceback.print_exc()
        return frame(Reply("raised", f"{type(error).__name__}: {error}"))


def _read(requests: BinaryIO, kind: type[M]) -> M:
    head = requests.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise SystemExit
    return msgspec.msgpack.decode(requests.read(LENGTH.unpack(head)[0]), type=kind)


def _write(replies: BinaryIO, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        replies.write(data)
        replies.flush()


if __name__ == "__main__":
    main()
