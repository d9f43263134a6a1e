"""However ranks share a model, it comes out as it went in, and no process holds more than it needs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainer.hf.test_conversion import resaved

TENSOR, PIPELINE, CONTEXT, DATA = (
    {f"{kind}_parallel": 2} for kind in ("tensor", "pipeline", "context", "data")
)
FOUR = {"tensor_parallel": 4}
"""More than there are key-value heads."""
FAMILIES = ["llama", "llama3", "qwen2", "qwen3", "odd"]


@pytest.mark.parametrize(
    ("ranks", "ways"),
    [(2, [TENSOR, PIPELINE, CONTEXT, DATA]), (4, [TENSOR | PIPELINE, FOUR, PIPELINE | DATA])],
    ids=["two", "four"],
)
def test_a_policy_that_ranks_share_is_exported_bit_for_bit(
    policy_of: Callable[..., Path], tmp_path: Path, ranks: int, ways: list[dict[str, Any]]
) -> None:
    policies = [policy_of(family, tied=tied) for family in FAMILIES for tied in (False, True)]
    policies.append(resaved(policies[0], tmp_path / "in many files", max_shard_size="8KB"))
    arguments = [str(tmp_path), json.dumps([str(policy) for policy in policies]), json.dumps(ways)]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*torchrun, "-m", "tests.trainer.exporting", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    for number, way in enumerate(ways):
        for place, policy in enumerate(policies):
            original = {n: t for path in policy.glob("*.safetensors") for n, t in load_file(path).items()}
            exported = load_file(tmp_path / f"{number}-{place}" / "model.safetensors")
            assert exported.keys() == original.keys(), (way, policy)
            for name, tensor in original.items():
                assert torch.equal(exported[name], tensor), (way, policy, name)


def test_reading_and_writing_take_the_memory_of_a_tensor_not_of_the_model(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.trainer.resident", str(tmp_path)]
    # What is freed goes back at once, or it would hide what is taken afterwards.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["model"] > 6 * found["largest"]
    assert found["load"] < 2 * found["largest"]
    assert found["export"] < 2 * found["largest"]
