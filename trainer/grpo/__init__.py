"""Group-relative policy optimisation as formulas on tensors: one family a file, no I/O, no ranks.

advantages.py     what a trajectory is worth against its own group
normalization.py  what one token of a row weighs in a batch's loss
surrogate.py      the clipped ratio, truncated importance weights, and both
kl.py             the distance from a reference policy
objective.py      their sum, per token, as the config asks for

B batch, G group, R rows (trajectories), N completion tokens of several rows one after the other.
"""

from trainer.grpo.advantages import group_advantages
from trainer.grpo.kl import kl_estimate
from trainer.grpo.normalization import row_weights
from trainer.grpo.objective import Objective, Tokens, objective
from trainer.grpo.surrogate import TokenLoss, clipped_loss, corrected_loss, truncated_loss

__all__ = [
    "Objective",
    "TokenLoss",
    "Tokens",
    "clipped_loss",
    "corrected_loss",
    "group_advantages",
    "kl_estimate",
    "objective",
    "row_weights",
    "truncated_loss",
]
