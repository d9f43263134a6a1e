"""The trainer's processes: how many there are, how they find each other, how rank 0 reaches the others."""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed

from mentor_stream.config import ConfigError
from trainer.model import cpu

IDLE = timedelta(days=7)
"""Ranks wait for rank 0 as long as the stream gives it nothing to do."""
_ORDER = "tp-cp-ep-dp-pp"
"""How megatron-core numbers ranks, the first kind changing fastest: what `_copies` reckons with."""


def start(
    *, tensor_parallel: int = 1, pipeline_parallel: int = 1, context_parallel: int = 1, seed: int
) -> None:
    """Join the process group that the environment describes (launch.py, torchrun), or be alone in one."""
    cpu.install()
    own, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if 0 < gpus <= own:
        raise ConfigError(
            f"trainer: rank {own} of this machine has no GPU, torch sees {gpus}. Lower tensor_parallel, "
            "pipeline_parallel, context_parallel or data_parallel, or share the work with another machine"
        )
    torch.cuda.set_device(own)
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend, timeout=IDLE)
    else:
        alone = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group(backend, store=alone, rank=0, world_size=1)
    share(tensor_parallel, pipeline_parallel, context_parallel)
    model_parallel_cuda_manual_seed(seed)


def share(tensor_parallel: int, pipeline_parallel: int, context_parallel: int) -> None:
    """Say how the ranks divide the work; those beyond one copy of the model are data-parallel."""
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=tensor_parallel,
        pipeline_model_parallel_size=pipeline_parallel,
        context_parallel_size=context_parallel,
        order=_ORDER,
    )


def stop() -> None:
    """Leave the process group."""
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()


def is_lead() -> bool:
    """Whether this process talks to the stream."""
    return dist.get_rank() == 0


def is_alone() -> bool:
    """Whether there is no other rank."""
    return dist.get_world_size() == 1


def from_last_stage(values: torch.Tensor) -> None:
    """Give every stage of this pipeline what the last one has."""
    if parallel_state.get_pipeline_model_parallel_world_size() > 1:
        last = parallel_state.get_pipeline_model_parallel_last_rank()
        group: Any = parallel_state.get_pipeline_model_parallel_group()
        dist.broadcast(values, src=last, group=group)


def device() -> torch.device:
    """Where this rank computes."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def send(data: bytes) -> None:
    """On rank 0: give all others these bytes."""
    dist.broadcast(torch.tensor([len(data)], device=device()), src=0)
    dist.broadcast(_tensor(data), src=0)


def receive() -> bytes:
    """On every other rank: wait for what rank 0 sends next."""
    size = torch.zeros(1, dtype=torch.int64, device=device())
    dist.broadcast(size, src=0)
    data = _room(int(size))
    dist.broadcast(data, src=0)
    return _bytes(data)


def scatter(parts: Sequence[bytes]) -> None:
    """On rank 0: give every other rank the part of its data-parallel rank, one for each of those."""
    width = max(map(len, parts))
    filled = [_tensor(part.ljust(width, b"\0")) for part in parts]  # it scatters what is alike in size
    dist.scatter(_room(width), [filled[copy] for copy in _copies()], src=0)


def receive_part(sizes: Sequence[int]) -> bytes:
    """On every other rank: wait for what rank 0 scatters next, parts of these sizes; this rank's."""
    data = _room(max(sizes))
    dist.scatter(data, src=0)
    return _bytes(data)[: sizes[parallel_state.get_data_parallel_rank()]]


def _copies() -> list[int]:
    """The data-parallel rank of every rank."""
    neighbours = (
        parallel_state.get_tensor_model_parallel_world_size()
        * parallel_state.get_context_parallel_world_size()
    )
    copies = parallel_state.get_data_parallel_world_size()
    return [rank // neighbours % copies for rank in range(dist.get_world_size())]


def _tensor(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device())


def _room(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device=device())


def _bytes(data: torch.Tensor) -> bytes:
    return data.cpu().numpy().tobytes()
