"""The process group of one update: the sender is rank 0, the server's ranks are those behind it.

Both ends have to make it alike, each with its own PyTorch, of which `dist` is torch.distributed. It is apart
from any default group, and goes away after the update.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Thread
from typing import Any

from mentor_stream.weights import address
from mentor_stream.weights.messages import Backend, group_prefix

STALL_SECONDS = 120.0
"""An end that neither takes nor gives a bucket for so long is taken for dead."""
MEET_SECONDS = 30.0
"""For the ends to find each other: all have asked, and one that died since keeps others from their turn."""
LOOK = timedelta(seconds=1)
"""Between looks at whether the other end is still there."""
INTERFACE = "GLOO_SOCKET_IFNAME"
"""The environment variable by which a user says over which interface gloo goes."""


class Group:
    """The ends of one update, met. All calls raise RuntimeError when one of them is gone or stands still."""

    def __init__(
        self,
        dist: Any,
        store: Any,
        *,
        ask_id: str,
        backend: Backend,
        rank: int,
        size: int,
        other: str,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Waits for the others, over gloo MEET_SECONDS at most. `other` is the address of the other end, and
        `check` raises RuntimeError when that is gone."""
        self._dist, self._check = dist, check
        meeting = dist.PrefixStore(group_prefix(ask_id), store)
        patience = timedelta(seconds=STALL_SECONDS)
        self._aborts = backend == "nccl"
        make = _nccl if self._aborts else _gloo
        self._group: Any = make(dist, meeting, rank, size, patience, other)

    def broadcast(self, data: Any) -> Callable[[], None]:
        """Begin to give the sender's bytes to all; what is returned waits for the end of it."""
        options = self._dist.BroadcastOptions()
        options.rootRank = 0
        return partial(self._wait, self._group.broadcast([data], options))

    def agree(self, mark: Any) -> None:
        """Wait until all have come here. `mark` is a tensor of one number."""
        self._wait(self._group.allreduce([mark]))

    def _wait(self, work: Any) -> None:
        """Until it is done. Gloo hears of no end that dies in the middle of a message: `check` does."""
        if self._aborts:
            work.wait()
            return
        while True:
            try:
                work.wait(LOOK)
            except RuntimeError:
                if work.is_completed():
                    raise
                if self._check:
                    self._check()
            else:
                return

    def close(self) -> None:
        """Leave: who still waits for us hears of it."""
        if self._aborts:
            self._group.abort()
        held, self._group = [self._group], None
        # Beside us: gloo lets go only when what was begun is done, or STALL_SECONDS are over.
        Thread(target=held.clear, daemon=True, name="parting").start()


def _gloo(dist: Any, store: Any, rank: int, size: int, patience: timedelta, other: str) -> Any:
    options = dist.ProcessGroupGloo._Options()
    options._timeout = min(patience, timedelta(seconds=MEET_SECONDS))
    # By its own choice gloo takes the address of the host's name, on many hosts one that others do not reach.
    named = INTERFACE in os.environ
    device = {"interface": os.environ[INTERFACE].split(",")[0]} if named else {"hostname": address.own(other)}
    options._devices = [dist.ProcessGroupGloo.create_device(**device)]
    group = dist.ProcessGroupGloo(store, rank, size, options)
    group.set_timeout(patience)
    return group


def _nccl(dist: Any, store: Any, rank: int, size: int, patience: timedelta, _: str) -> Any:
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = patience
    with _waiting_for_it():
        return dist.ProcessGroupNCCL(store, rank, size, options)


@contextmanager
def _waiting_for_it() -> Generator[None]:
    """Groups of NCCL that are made meanwhile raise after their time; otherwise they end the whole process."""
    wanted = {"TORCH_NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
