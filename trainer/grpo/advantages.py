"""What a trajectory is worth: its reward against those of its own group."""

import torch
from torch import Tensor

EPSILON = 1e-6
"""Added to the standard deviation of a group's rewards."""


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
