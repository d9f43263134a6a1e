"""One snapshot to all ranks of one server."""

from typing import Any

import torch
import torch.distributed as dist

from mentor_stream.weights.group import Group
from mentor_stream.weights.messages import Ask
from trainer.sending.files import Opened


def send(opened: Opened, ask: Ask, store: Any) -> None:
    """Meet the server's ranks and give them all bytes; returns when all have them.

    Raises RuntimeError when one of them is gone or stands still.
    """
    device = torch.device("cuda" if ask.backend == "nccl" else "cpu")
    group = Group(
        dist,
        store,
        ask_id=ask.id,
        backend=ask.backend,
        rank=0,
        size=1 + ask.ranks,
        other=ask.address,
    )
    try:
        for bucket in opened.buckets():
            data = torch.frombuffer(bucket, dtype=torch.uint8).to(device)
            group.broadcast(data)()
        group.agree(torch.zeros(1, device=device))
    finally:
        group.close()
