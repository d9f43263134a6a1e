"""The process group of one update: the sender is rank 0, the server's ranks are those behind it.

Both ends have to make it alike, each with its own PyTorch, of which `dist` is torch.distributed. It is apart
from any default group, and goes away after the update.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from mentor_stream.weights import address
from mentor_stream.weights.messages import Backend, group_prefix

STALL_SECONDS = 120.0
"""An end that neither takes nor gives a bucket for so long is taken for dead."""
INTERFACE = "GLOO_SOCKET_IFNAME"
"""The environment variable by which a user says over which interface gloo goes."""


class Group:
    """The ends of one update, met. All calls raise RuntimeError when one of them is gone or stands still."""

    def __init__(
        self, dist: Any, store: Any, *, ask_id: str, backend: Backend, rank: int, size: int, other: str
    ) -> None:
        """Waits for the others, STALL_SECONDS at most. `other` is the address of the other end."""
        self._dist = dist
        meeting = dist.PrefixStore(group_prefix(ask_id), store)
        patience = timedelta(seconds=STALL_SECONDS)
        self._aborts = backend == "nccl"
        make = _nccl if self._aborts else _gloo
        self._group = make(dist, meeting, rank, size, patience, other)

    def broadcast(self, data: Any) -> Any:
        """Begin to give the sender's bytes to all; `wait()` of what it returns is the end of it."""
        options = self._dist.BroadcastOptions()
        options.rootRank = 0
        return self._group.broadcast([data], options)

    def agree(self, mark: Any) -> None:
        """Wait until all have come here. `mark` is a tensor of one number."""
        self._group.allreduce([mark]).wait()

    def close(self) -> None:
        """Leave: who still waits for us hears of it."""
        if self._aborts:
            self._group.abort()
        del self._group


def _gloo(dist: Any, store: Any, rank: int, size: int, patience: timedelta, other: str) -> Any:
    options = dist.ProcessGroupGloo._Options()
    options._timeout = patience
    # By its own choice gloo takes the address of the host's name, on many hosts one that others do not reach.
    named = INTERFACE in os.environ
    device = {"interface": os.environ[INTERFACE].split(",")[0]} if named else {"hostname": address.own(other)}
    options._devices = [dist.ProcessGroupGloo.create_device(**device)]
    return dist.ProcessGroupGloo(store, rank, size, options)


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
