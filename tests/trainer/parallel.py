"""Several ranks learn what one learns: torchrun starts this, once for all ways to share that it is to try.

It prints a line for each: what the steps said, and the weights afterwards go to a file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from megatron.core import parallel_state
from safetensors.torch import save_file

from mentor_stream.config import parse_section
from tests.trainer.policies import sampled_groups
from trainer import architecture, ranks
from trainer.config import TrainerConfig
from trainer.learner import Learner

STEPS = 3
GROUPS = 5


def learned(
    policy: Path, options: dict[str, Any]
) -> tuple[list[float], list[float], dict[str, torch.Tensor]]:
    """Losses and gradient norms of the first steps, and the weights then."""
    config = parse_section(TrainerConfig, {"lr": 1e-2, "max_tokens_per_microbatch": 60, **options}, "trainer")
    learner = Learner(config, policy, architecture.read(policy))
    steps = [learner.step(sampled_groups(policy, GROUPS, seed=seed)) for seed in range(STEPS)]
    found = [step for step in steps if step]
    assert len(found) == STEPS
    return [step.loss for step in found], [step.grad_norm for step in found], learner.weights()


def main(policy: Path, out: Path, ways: list[dict[str, Any]]) -> None:
    torch.set_num_threads(1)
    ranks.start(seed=0)
    for number, way in enumerate(ways):
        parallel_state.destroy_model_parallel()
        sizes = [way.get(f"{kind}_parallel", 1) for kind in ("tensor", "pipeline", "context")]
        ranks.share(*sizes)
        losses, norms, weights = learned(policy, way)
        if ranks.is_lead():
            save_file(weights, out / f"{number}.safetensors")
            sys.stdout.write(json.dumps({"losses": losses, "norms": norms}) + "\n")
    ranks.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
