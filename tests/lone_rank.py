"""Megatron in the tests' own process: one process group for all of them, wherever they lie."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def rank() -> Iterator[None]:
    """This process as the only rank."""
    import torch

    from trainer.model import cpu

    cpu.install()
    from trainer import ranks

    torch.set_num_threads(1)
    ranks.start(seed=0)
    yield
    ranks.stop()
