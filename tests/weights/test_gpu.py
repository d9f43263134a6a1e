"""Weights over NCCL, which only GPUs can show."""

import secrets
from pathlib import Path

import pytest
import torch

from producers.engines.vllm import receiving
from producers.engines.vllm.receiving import Place, Sender
from tests.weights.shelf import different, large, where, write
from trainer.sending import Keeper

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        torch.cuda.device_count() < 2, reason=f"two GPUs for NCCL, and torch sees {torch.cuda.device_count()}"
    ),
]


def test_weights_over_nccl_arrive_bit_for_bit_update_after_update(tmp_path: Path) -> None:
    files, device = large(), torch.device("cuda", 1)  # the sender takes the first
    snapshot, at = write(tmp_path, files), where()
    kept = Keeper(at, tmp_path)
    try:
        with torch.cuda.device(device):
            for _ in range(2):
                sender = Sender(at, snapshot.digest, "nccl")
                with receiving.arriving(sender, secrets.token_hex(16), Place(), device) as arrival:
                    found = {name: tensor.cpu() for name, tensor in arrival.begin()}
                assert different(found, files) == []
    finally:
        kept.close()
