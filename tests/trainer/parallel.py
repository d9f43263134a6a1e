"""Several ranks learn what one learns: torchrun starts this, once for all ways to share that it is to try.

It prints a line for each: what the steps said, and the loss after one more from where one rank had left off.
The weights go to a file of OUT and the checkpoint to a directory, both of the way's number.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from safetensors.torch import save_file

from mentor_stream.config import parse_section
from tests.trainer.dealing import learn
from tests.trainer.policies import sampled_groups, weights_of
from trainer import ranks
from trainer.config import TrainerConfig
from trainer.learning.learner import Learner
from trainer.learning.steps import Step
from trainer.model import architecture

STEPS = 3
GROUPS = 5
OF_ONE = "one"
"""The checkpoint that one rank left."""


class Learned(NamedTuple):
    losses: list[float]
    norms: list[float]
    told: dict[str, Any]
    """All that the last step says, but for padding: that is each way's own."""
    weights: dict[str, torch.Tensor]


def a_learner(policy: Path, options: dict[str, Any]) -> Learner:
    settings = {"lr": 1e-2, "max_tokens_per_microbatch": 60, "weight_decay": 0.1, **options}
    return Learner(parse_section(TrainerConfig, settings, "trainer"), policy, architecture.read(policy))


def step(learner: Learner, policy: Path, number: int) -> Step:
    taken = learn(learner, sampled_groups(policy, GROUPS, seed=number))
    assert taken
    return taken


def learned(policy: Path, options: dict[str, Any], checkpoint: Path) -> Learned:
    """The first steps; what they left goes to the checkpoint."""
    learner, steps = a_learner(policy, options), list[Step]()
    for number in range(STEPS):
        steps.append(step(learner, policy, number))
        weights = weights_of(learner.weights())  # as for a release, between two steps
    with_directory(checkpoint, learner.save)
    told = {n: v for n, v in asdict(steps[-1]).items() if n != "padding_fraction" and v is not None}
    return Learned([s.loss for s in steps], [s.grad_norm for s in steps], told, weights)


def goes_on(policy: Path, options: dict[str, Any], checkpoint: Path) -> float:
    """The loss of the step after a checkpoint."""
    learner = a_learner(policy, options)
    learner.load(checkpoint)
    step(learner, policy, STEPS)
    return step(learner, policy, STEPS + 1).loss


def with_directory(directory: Path, save: Callable[[Path], None]) -> None:
    if ranks.is_lead():
        directory.mkdir()
    dist.barrier()
    save(directory)


def main(policy: Path, out: Path, ways: list[dict[str, Any]]) -> None:
    torch.set_num_threads(1)
    ranks.start(seed=0)
    for number, way in enumerate(ways):
        parallel_state.destroy_model_parallel()
        ranks.share(*(way.get(f"{kind}_parallel", 1) for kind in ("tensor", "pipeline", "context")))
        losses, norms, told, weights = learned(policy, way, out / str(number))
        after = goes_on(policy, way, out / OF_ONE)
        if ranks.is_lead():
            save_file(weights, out / f"{number}.safetensors")
            found = {"losses": losses, "norms": norms, "told": told, "after": after}
            sys.stdout.write(json.dumps(found) + "\n")
    ranks.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
