"""What is measured over the trained tokens of one optimizer step, summed over micro-batches and ranks."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from torch import Tensor

from trainer import ranks
from trainer.grpo import Objective
from trainer.model.vocabulary import TokenScores
from trainer.packing.microbatch import MicroBatch


class Measures(NamedTuple):
    """Sums over tokens, then maxima."""

    loss: float
    ratio: float
    clipped: float
    entropy: float
    kl: float
    gap: float
    """Distances between the sampler's log-probs and the trainer's, of tokens whose prompt both saw."""
    compared: float
    """How many those are."""
    tokens: float
    positions: float
    """That went through the model, padding with them."""
    ratio_max: float
    gap_max: float


_MAXIMA = 2
"""The last fields."""


def measured(
    loss: Tensor, found: Objective, scores: TokenScores, batch: MicroBatch, sampler_N: Tensor
) -> Tensor:
    """The measures of one micro-batch, in the order of Measures [fields]; `loss` is its part of the whole."""
    compared_N = batch.chosen(batch.as_sampled_T)
    gap_N = torch.where(compared_N, (scores.logprobs_N.detach() - sampler_N).abs(), 0.0)
    nothing = found.ratio_N.new_zeros(1)
    kl = nothing if found.kl_N is None else found.kl_N.sum()
    values = (
        loss.detach(),
        found.ratio_N.sum(),
        found.clipped_N.sum(),
        scores.entropy_N.detach().sum(),
        kl,
        gap_N.sum(),
        compared_N.sum(),
        torch.tensor(len(gap_N)),
        torch.tensor(len(batch.tokens_T)),
        torch.cat([found.ratio_N, nothing]).max(),
        torch.cat([gap_N, nothing]).max(),
    )
    return torch.stack([value.reshape(()).to(nothing.device).double() for value in values])


def together(reports: Iterable[Tensor]) -> Measures:
    """All micro-batches' of all ranks, on each of them. No reports come but from the last pipeline stage."""
    sums = torch.zeros(len(Measures._fields) - _MAXIMA, dtype=torch.float64, device=ranks.device())
    maxima = torch.zeros(_MAXIMA, dtype=torch.float64, device=ranks.device())
    for report in reports:
        sums += report[:-_MAXIMA]
        maxima = torch.maximum(maxima, report[-_MAXIMA:])
    group = parallel_state.get_data_parallel_group(with_context_parallel=True)
    dist.all_reduce(sums, group=group)
    dist.all_reduce(maxima, dist.ReduceOp.MAX, group=group)
    values = torch.cat([sums, maxima])
    ranks.from_last_stage(values)
    return Measures(*values.tolist())
