"""The trainer's processes: how many there are, how they find each other, how rank 0 leads the others.

Only rank 0 knows the stream. It tells the others what to do as an order and a payload of plain bytes.
"""

import os
from datetime import timedelta
from enum import IntEnum

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed

from trainer import cpu

IDLE = timedelta(days=7)
"""Ranks wait for rank 0 as long as the stream gives it nothing to do."""


class Order(IntEnum):
    """What rank 0 tells the others."""

    TRAIN = 1
    EXPORT = 2
    SAVE = 3
    LOAD = 4
    LEAVE = 5


def start(*, tensor_parallel: int, seed: int) -> None:
    """Join the process group that torchrun described, or be alone in one."""
    cpu.install()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend, timeout=IDLE)
    else:
        alone = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group(backend, store=alone, rank=0, world_size=1)
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor_parallel)
    model_parallel_cuda_manual_seed(seed)


def stop() -> None:
    """Leave the process group."""
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()


def is_lead() -> bool:
    """Whether this process talks to the stream."""
    return dist.get_rank() == 0


def device() -> torch.device:
    """Where this rank computes."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def command(order: Order, payload: bytes = b"") -> None:
    """On rank 0: what all the others do next."""
    if dist.get_world_size() == 1:
        return
    dist.broadcast(torch.tensor([order, len(payload)], device=device()), src=0)
    if payload:
        body = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
        dist.broadcast(body.to(device()), src=0)


def obey() -> tuple[Order, bytes]:
    """On every other rank: wait for the next order."""
    head = torch.zeros(2, dtype=torch.int64, device=device())
    dist.broadcast(head, src=0)
    order, size = head.tolist()
    body = torch.empty(size, dtype=torch.uint8, device=device())
    if size:
        dist.broadcast(body, src=0)
    return Order(order), body.cpu().numpy().tobytes()
