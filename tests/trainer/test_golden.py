"""Losses that must not move: of the first steps on policies and groups that are the same everywhere.

Written by `python -m tests.trainer.test_golden`, when they are meant to move.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.parallel import learned
from tests.trainer.policies import write_policy

LOSSES = Path(__file__).parent / "golden" / "losses.json"
CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "llama": ("llama", False, {}),
    "llama tied, sequence mean": ("llama", True, {"normalization": "sequence"}),
    "qwen2, no deviation": ("qwen2", False, {"scale_by_std": False}),
    "qwen3, constant length": ("qwen3", False, {"normalization": "constant", "constant_length": 8}),
    "qwen3, truncated weights": ("qwen3", False, {"importance_cap": 1.1}),
    "llama3, kl and entropy": ("llama3", False, {"kl_coef": 0.5, "entropy_coef": 0.1}),
    "qwen2, several steps": ("qwen2", False, {"epochs": 2, "minibatches": 2, "old_logprobs": "recompute"}),
}


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("case", CASES)
def test_the_losses_of_the_first_steps_do_not_move(
    policy_of: Callable[..., Path], tmp_path: Path, case: str
) -> None:
    family, tied, options = CASES[case]
    losses = learned(policy_of(family, tied=tied), options, tmp_path / "checkpoint").losses
    assert losses == pytest.approx(json.loads(LOSSES.read_text())[case], abs=1e-6)


def write() -> None:
    """Take the losses as they are for right."""
    from trainer.model import cpu

    cpu.install()
    from trainer import ranks

    torch.set_num_threads(1)
    ranks.start(seed=0)
    losses: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for number, (case, (family, tied, options)) in enumerate(CASES.items()):
            home = Path(directory) / str(number)
            (home / "policy").mkdir(parents=True)
            policy = write_policy(home / "policy", family, tied=tied)
            losses[case] = learned(policy, options, home / "checkpoint").losses
    LOSSES.parent.mkdir(exist_ok=True)
    LOSSES.write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    write()
