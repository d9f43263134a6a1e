"""Learns with the layers of Transformer Engine, for which something stands in, and with plain ones.

Started for itself, with the stand-in on its path: megatron-core looks for the engine as it is imported. It
prints what both came to, one JSON object for each case.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformer_engine  # pyright: ignore[reportMissingImports]

from tests.trainer.parallel import STEPS, a_learner, learned, step
from tests.trainer.policies import write_policy
from trainer import ranks

BOTH = {"lr": 1e-3, "kl_coef": 0.1}


def case(directory: Path, family: str, options: dict[str, Any]) -> dict[str, Any]:
    """One model with one kind of FP8, beside bf16."""
    policy, settings = directory / "policy", BOTH | {"precision": "fp8"} | options
    policy.mkdir(parents=True)
    write_policy(policy, family)
    plain = learned(policy, BOTH | {"precision": "bf16"}, directory / "bf16")
    transformer_engine.multiplied.clear()
    ours = learned(policy, settings, directory / "fp8")
    counted = list(transformer_engine.multiplied)
    resumed, again = a_learner(policy, settings), a_learner(policy, settings)
    resumed.load(directory / "fp8")
    for number in range(STEPS):
        step(again, policy, number)
    return {
        "plain": plain.losses,
        "engine": ours.losses,
        "weights": all(torch.equal(weight, ours.weights[name]) for name, weight in plain.weights.items()),
        "in_fp8": sum(recipe is not None for recipe in counted) / len(counted),
        "recipes": sorted({recipe for recipe in counted if recipe}),
        "resumed": [step(learner, policy, STEPS).loss for learner in (resumed, again)],
    }


def main(cases: list[tuple[str, dict[str, Any]]]) -> None:
    torch.set_num_threads(1)
    ranks.start(seed=0)
    with tempfile.TemporaryDirectory() as place:
        for number, (family, options) in enumerate(cases):
            sys.stdout.write(json.dumps(case(Path(place) / str(number), family, options)) + "\n")
    ranks.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
