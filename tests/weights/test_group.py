"""The process group of one update: how long its ends wait for each other, before they meet and after."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
import torch
import torch.distributed as dist

from mentor_stream.weights import group
from mentor_stream.weights.group import Group

MEET_SECONDS = 1.0


@pytest.fixture
def end(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Group]]:
    """Makes one of two ends."""
    monkeypatch.setattr(group, "MEET_SECONDS", MEET_SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def connect(*, own: bool) -> Any:
        patience = timedelta(seconds=30)
        return dist.TCPStore("127.0.0.1", port, is_master=own, wait_for_workers=False, timeout=patience)  # pyright: ignore[reportPrivateImportUsage]

    kept = connect(own=True)

    def make(rank: int) -> Group:
        store = connect(own=False)
        return Group(dist, store, ask_id="0" * 32, backend="gloo", rank=rank, size=2, other="127.0.0.1")

    yield make
    del kept


def test_an_end_that_never_comes_is_not_waited_for_as_long_as_one_that_stands_still(
    end: Callable[[int], Group],
) -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="timeout"):
        end(0)
    assert time.monotonic() - began < group.STALL_SECONDS / 4


def test_once_they_have_met_an_end_may_take_longer(end: Callable[[int], Group]) -> None:
    with ThreadPoolExecutor(2) as pool:
        sender, receiver = pool.map(end, (0, 1))
        data = torch.zeros(3)
        arrive = receiver.broadcast(data)
        Event().wait(2 * MEET_SECONDS)
        sender.broadcast(torch.ones(3))()
        arrive()
        assert data.tolist() == [1, 1, 1]
        sender.close()
        receiver.close()
