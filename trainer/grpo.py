"""Group-relative policy optimisation: advantages and the clipped loss, as formulas on tensors.

B batch, G group, R rows (trajectories), N completion tokens of several rows one after the other.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from trainer.config import Normalization

EPSILON = 1e-6
"""Added to the standard deviation of a group's rewards."""

LOG_RATIO_BOUND = 20.0
"""Log-ratios are held within this: far beyond any clip, and exp of it is still a number."""


def group_advantages(rewards_BG: Tensor, scorable_BG: Tensor, *, scale_by_std: bool) -> Tensor:
    """Advantage of each trajectory against its own group [batch, group].

    Rows that are not scorable count in neither mean nor deviation and get 0. A group without variance,
    or with fewer than two scorable rows, gets 0. The deviation is the unbiased one (n - 1).
    GRPO: arXiv 2402.03300, section 4.1.2; without the deviation Dr. GRPO: arXiv 2503.20783.
    """
    counts_B1 = scorable_BG.sum(-1, keepdim=True)
    known_BG = torch.where(scorable_BG, rewards_BG, 0.0)
    mean_B1 = known_BG.sum(-1, keepdim=True) / counts_B1.clamp(min=1)
    centred_BG = torch.where(scorable_BG, rewards_BG - mean_B1, 0.0)
    std_B1 = (centred_BG.square().sum(-1, keepdim=True) / (counts_B1 - 1).clamp(min=1)).sqrt()
    scaled_BG = centred_BG / (std_B1 + EPSILON) if scale_by_std else centred_BG
    spread_B1 = torch.where(scorable_BG, rewards_BG, -torch.inf).amax(-1, keepdim=True) > torch.where(
        scorable_BG, rewards_BG, torch.inf
    ).amin(-1, keepdim=True)
    return torch.where(spread_B1, scaled_BG, 0.0)


def row_weights(lengths_R: Tensor, normalization: Normalization, *, constant_length: int | None) -> Tensor:
    """What one token of each row weighs in the batch's loss [rows]; rows of no tokens weigh nothing.

    token: every token of the batch the same (DAPO, arXiv 2503.14476). sequence: every row the same,
    whatever its length (GRPO, arXiv 2402.03300). constant: rows x `constant_length`, so that neither the
    row's nor the batch's length matters (Dr. GRPO, arXiv 2503.20783).
    """
    lengths_R = lengths_R.to(torch.float64)
    rows = max(1, len(lengths_R))
    if normalization == "token":
        weights_R = torch.full_like(lengths_R, 1.0) / lengths_R.sum().clamp(min=1)
    elif normalization == "sequence":
        weights_R = 1.0 / (rows * lengths_R.clamp(min=1))
    else:
        if constant_length is None:
            raise ValueError("constant normalization without a length")
        weights_R = torch.full_like(lengths_R, 1.0 / (rows * constant_length))
    return torch.where(lengths_R > 0, weights_R, 0.0)


class TokenLoss(NamedTuple):
    """Per completion token [tokens]: the loss, the importance ratio, and whether the clip was in force."""

    loss_N: Tensor
    ratio_N: Tensor
    clipped_N: Tensor


def clipped_loss(
    logprobs_N: Tensor, sampler_N: Tensor, advantages_N: Tensor, *, clip_low: float, clip_high: float
) -> TokenLoss:
    """The pessimistic clipped surrogate, negated. PPO: arXiv 1707.06347, eq. 7; two bounds: DAPO, eq. 10.

    The ratio is taken to the distribution that was really sampled from.
    """
    ratio_N = _ratio(logprobs_N, sampler_N)
    free_N = ratio_N * advantages_N
    bounded_N = ratio_N.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages_N
    return TokenLoss(
        -torch.minimum(free_N, bounded_N), ratio_N.detach(), bounded_N.detach() < free_N.detach()
    )


def truncated_loss(logprobs_N: Tensor, sampler_N: Tensor, advantages_N: Tensor, *, cap: float) -> TokenLoss:
    """Policy gradient under truncated importance weights: -min(ratio, cap) A log p, the weight held fixed.

    What the clipped surrogate becomes when its old policy is the trainer's own at this very step, and the
    sampler's deviation is corrected by a weight instead. IMPALA, arXiv 1802.01561, section 4.1.
    Value: as if the ratio to the old policy were 1; gradient: that of the policy gradient.
    """
    ratio_N = _ratio(logprobs_N, sampler_N).detach()
    on_policy_N = torch.exp(logprobs_N - logprobs_N.detach())
    return TokenLoss(-ratio_N.clamp(max=cap) * advantages_N * on_policy_N, ratio_N, ratio_N > cap)


def _ratio(logprobs_N: Tensor, sampler_N: Tensor) -> Tensor:
    return torch.exp((logprobs_N - sampler_N).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND))
