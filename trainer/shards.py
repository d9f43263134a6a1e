"""Distributed checkpoint files, written and read by the ranks themselves.

megatron-core hands writing to forked processes, and keeps a manager process for their results. This
process runs threads, so it must not fork, and a manager would survive a kill -9 of its parent.
"""

import queue
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.strategies import filesystem_async
from megatron.core.dist_checkpointing.strategies.filesystem_async import FileSystemWriterAsync
from megatron.core.dist_checkpointing.strategies.torch import TorchDistSaveShardedStrategy
from torch.distributed.checkpoint.api import CheckpointException

from trainer.ending import OfAll


def save(state: dict[str, Any], directory: Path) -> None:
    """Write every rank's part, and the random state. All ranks call it with the same directory.

    Where one cannot write its part all of them raise, rank 0 with the reason.
    """
    strategy = _InProcess("torch_dist", 1, thread_count=1)
    with _as_an_error():
        dist_checkpointing.save(state | {"random": torch.get_rng_state()}, str(directory), strategy)


def load(state: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Read every rank's part, into the layout of `state`. Restores the random state."""
    with _as_an_error():
        loaded: Any = dist_checkpointing.load(state | {"random": torch.get_rng_state()}, str(directory))
    torch.set_rng_state(loaded["random"])
    return loaded


@contextmanager
def _as_an_error() -> Generator[None]:
    """torch's own is a BaseException, which passes by whoever clears up after an error."""
    try:
        yield
    except CheckpointException as error:
        raise OfAll("; ".join(_reasons(error))) from error


def _reasons(error: CheckpointException) -> list[str]:
    """In a line each, without the ranks that have them and their tracebacks."""
    causes = [cause for cause, _ in error.failures.values()]
    return list(dict.fromkeys(" ".join(str(cause).split()) or type(cause).__name__ for cause in causes))


class _InProcess(TorchDistSaveShardedStrategy):
    def async_save(self, sharded_state_dict: Any, checkpoint_dir: Path) -> Any:
        filesystem_async._results_queue = queue.Queue()
        return super().async_save(sharded_state_dict, checkpoint_dir)

    def _get_save_and_finalize_callbacks(self, writer: Any, save_state_dict_ret: Any) -> Any:
        request = super()._get_save_and_finalize_callbacks(writer, save_state_dict_ret)
        transforms = [writer.transforms] if hasattr(writer, "transforms") else []
        return request._replace(async_fn=partial(_write, transforms)) if request.async_fn else request


def _write(transforms: list[Any], _: int, buckets: list[Any], results: queue.Queue[Any]) -> None:
    """Into `results` goes what was written, or the error: megatron-core tells it to all ranks."""
    written: dict[int, Any] = {}
    for number, bucket in enumerate(buckets):
        done, tickets = queue.Queue[Any](), queue.Queue[int]()
        tickets.put(number)
        FileSystemWriterAsync.write_preloaded_data(transforms, number, bucket, done, tickets, True)  # pyright: ignore[reportArgumentType]
        _, written[number] = done.get()
        if isinstance(written[number], Exception):
            results.put(written[number])
            return
    results.put(written)
