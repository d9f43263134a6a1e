"""However ranks share the work, they learn what one rank learns, and go on where others left off."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainer.parallel import OF_ONE, goes_on, learned

pytestmark = pytest.mark.usefixtures("rank")

TENSOR, PIPELINE, CONTEXT, DATA = (
    {f"{kind}_parallel": 2} for kind in ("tensor", "pipeline", "context", "data")
)
SEQUENCE = {**TENSOR, "sequence_parallel": True}
AHEAD = {**DATA, "overlap": True}
ON_TWO = [TENSOR, SEQUENCE, PIPELINE, CONTEXT, DATA, AHEAD]
RECOMPUTED = [SEQUENCE | {"recompute": "full"}, AHEAD | {"recompute": "selective"}]
EVERY_TERM = {"kl_coef": 0.5, "entropy_coef": 0.1, "old_logprobs": "recompute", "importance_cap": 1.1}
IN_STEPS = EVERY_TERM | {"epochs": 2, "minibatches": 2}
ON_FOUR = [
    TENSOR | PIPELINE,
    SEQUENCE | CONTEXT,
    SEQUENCE | PIPELINE,
    PIPELINE | CONTEXT,
    PIPELINE | DATA,
    CONTEXT | DATA,
    SEQUENCE | AHEAD | {"recompute": "full"},
]


def together(policy: Path, out: Path, ranks: int, ways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each way of sharing the work came to."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*torchrun, "-m", "tests.trainer.parallel", str(policy), str(out), json.dumps(ways)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("family", "tied", "ranks", "options", "ways"),
    [
        ("qwen3", False, 2, {}, ON_TWO),
        ("qwen2", True, 2, {}, [*ON_TWO, *RECOMPUTED]),
        ("llama", True, 4, {}, ON_FOUR),
        ("qwen3", False, 2, IN_STEPS, [SEQUENCE, PIPELINE, CONTEXT, AHEAD]),
    ],
    ids=["two, qwen3", "two, qwen2 tied", "four, llama tied", "two, every term and several steps"],
)
def test_ranks_that_share_the_work_learn_what_one_learns_and_go_on_from_its_checkpoint(
    policy_of: Callable[..., Path],
    tmp_path: Path,
    family: str,
    tied: bool,
    ranks: int,
    options: dict[str, Any],
    ways: list[dict[str, Any]],
) -> None:
    policy = policy_of(family, tied=tied)
    losses, norms, told, weights = learned(policy, options, tmp_path / OF_ONE)
    after = goes_on(policy, options, tmp_path / OF_ONE)
    found = together(policy, tmp_path, ranks, [options | way for way in ways])
    for number, (way, steps) in enumerate(zip(ways, found, strict=True)):
        assert steps["losses"] == pytest.approx(losses, abs=1e-6), way
        assert steps["norms"] == pytest.approx(norms, rel=1e-4), way
        assert steps["told"] == pytest.approx(told, rel=1e-3, abs=1e-5), way
        assert steps["after"] == pytest.approx(after, abs=2e-6), f"{way} from one rank's checkpoint"
        found_after = goes_on(policy, options, tmp_path / str(number))
        assert found_after == pytest.approx(after, abs=2e-6), f"one rank from the checkpoint of {way}"
        theirs = load_file(tmp_path / f"{number}.safetensors")
        assert theirs.keys() == weights.keys()
        for name, ours in weights.items():
            torch.testing.assert_close(theirs[name], ours, rtol=0, atol=2e-4, msg=f"{way}: {name}")


def test_ranks_that_share_the_work_in_bf16_learn_what_one_learns(
    policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    # Adam's first steps are all of the learning rate: at 1e-2 they magnify the rounding of any one sum
    policy, options = policy_of("qwen3"), {"precision": "bf16", "lr": 1e-3}
    losses = learned(policy, options, tmp_path / OF_ONE).losses
    ways = [SEQUENCE, PIPELINE, CONTEXT]
    for way, steps in zip(ways, together(policy, tmp_path, 2, [options | way for way in ways]), strict=True):
        assert steps["losses"] == pytest.approx(losses, abs=5e-3), way
