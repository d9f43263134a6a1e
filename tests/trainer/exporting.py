"""Ranks that share a model read it and write it: torchrun starts this, once for all ways and policies."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state

from trainer import ranks
from trainer.config import TrainerConfig
from trainer.hf import conversion
from trainer.model import architecture, gpt
from trainer.model.architecture import Architecture


def export(policy: Path, way: dict[str, Any], out: Path) -> None:
    """Through the model and out again."""
    shape = architecture.read(policy)
    network = gpt.build(shape, TrainerConfig(**way)).module
    conversion.load(policy, shape, network)
    assert not any(padding.any() for padding in paddings(network, shape))
    weights = conversion.gather(shape, network)
    if ranks.is_lead():
        conversion.save(policy, shape, weights, out)
    else:
        assert not list(weights)
    dist.barrier()


def paddings(network: Any, shape: Architecture) -> list[torch.Tensor]:
    """Rows of this rank that are no words."""
    rank = parallel_state.get_tensor_model_parallel_rank()
    holders = [getattr(network, name, None) for name in ("output_layer", "embedding")]
    weights = [parameter for holder in holders if holder for parameter in holder.parameters()]
    return [weight[max(0, shape.vocabulary - rank * len(weight)) :] for weight in weights]


def main(out: Path, policies: list[str], ways: list[dict[str, Any]]) -> None:
    torch.set_num_threads(1)
    ranks.start(seed=0)
    for number, way in enumerate(ways):
        parallel_state.destroy_model_parallel()
        ranks.share(*(way.get(f"{kind}_parallel", 1) for kind in ("tensor", "pipeline", "context")))
        for place, policy in enumerate(policies):
            directory = out / f"{number}-{place}"
            directory.mkdir(exist_ok=True)
            export(Path(policy), way, directory)
    ranks.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(json.loads(argument) for argument in sys.argv[2:]))
