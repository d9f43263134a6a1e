"""How far a token's advantage moves its probability: clipped ratios and truncated importance weights.

Three policies meet here: the one that is trained (new), the one at the beginning of the batch (old), and the
sampler's, which may be older and computes with other kernels in another precision.
"""

from typing import NamedTuple

import torch
from torch import Tensor

LOG_RATIO_BOUND = 20.0
"""Log-ratios are held within this: far beyond any clip, and exp of it is still a number."""


class TokenLoss(NamedTuple):
    """Per completion token [tokens]: the loss, the importance ratio, and whether clip or cap was in force."""

    loss_N: Tensor
    ratio_N: Tensor
    clipped_N: Tensor


def clipped_loss(
    logprobs_N: Tensor, old_N: Tensor, advantages_N: Tensor, *, clip_low: float, clip_high: float
) -> TokenLoss:
    """The pessimistic clipped surrogate, negated: -min(ratio A, clip(ratio, 1 - low, 1 + high) A).

    PPO: arXiv 1707.06347, eq. 7; two bounds: DAPO, arXiv 2503.14476, eq. 10. The ratio is new / old, where
    old may be the sampler: then the clip bounds the distance to what was really sampled from.
    """
    ratio_N = _ratio(logprobs_N, old_N)
    free_N = ratio_N * advantages_N
    bounded_N = ratio_N.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages_N
    return TokenLoss(
        -torch.minimum(free_N, bounded_N), ratio_N.detach(), bounded_N.detach() < free_N.detach()
    )


def truncated_loss(logprobs_N: Tensor, sampler_N: Tensor, advantages_N: Tensor, *, cap: float) -> TokenLoss:
    """Policy gradient under truncated importance weights: -min(new / sampler, cap) A log new.

    The weights are held fixed, so no token is ever without a gradient, as it may be under the clip. IMPALA,
    arXiv 1802.01561, section 4.1; for language models CISPO, arXiv 2506.13585. Value: as if log new were 1.
    """
    ratio_N = _ratio(logprobs_N, sampler_N).detach()
    on_policy_N = torch.exp(logprobs_N - logprobs_N.detach())
    return TokenLoss(-ratio_N.clamp(max=cap) * advantages_N * on_policy_N, ratio_N, ratio_N > cap)


def corrected_loss(clipped: TokenLoss, old_N: Tensor, sampler_N: Tensor, *, cap: float) -> TokenLoss:
    """A clipped surrogate to the old policy, each token times min(old / sampler, cap), held fixed.

    The clip bounds what the steps on this batch may do, and the weight corrects that another distribution
    was sampled from: decoupled PPO, arXiv 2110.00641, with the weight truncated (E. Ionides, "Truncated
    importance sampling", 2008), as between a sampler and a trainer do F. Yao et al., "Your efficient RL
    framework secretly brings you off-policy RL training", 2025.
    """
    ratio_N = _ratio(old_N, sampler_N).detach()
    return TokenLoss(
        clipped.loss_N * ratio_N.clamp(max=cap), clipped.ratio_N, clipped.clipped_N | (ratio_N > cap)
    )


def _ratio(logprobs_N: Tensor, other_N: Tensor) -> Tensor:
    return torch.exp((logprobs_N - other_N).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND))
