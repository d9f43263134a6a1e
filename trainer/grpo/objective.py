"""The loss of each token: surrogate + kl_coef x KL - entropy_coef x entropy."""

from typing import NamedTuple

from torch import Tensor

from trainer.config import TrainerConfig
from trainer.grpo.kl import kl_estimate
from trainer.grpo.surrogate import TokenLoss, clipped_loss, corrected_loss, truncated_loss


class Tokens(NamedTuple):
    """What is known of completion tokens before a step [tokens each], under the temperature of sampling."""

    sampler_N: Tensor
    """Log-probabilities that came with the tokens."""
    advantages_N: Tensor
    old_N: Tensor | None = None
    """The trainer's own log-probabilities when the batch began; None where this is the batch's only step."""
    reference_N: Tensor | None = None
    """The reference policy's; None where it is not asked."""


class Objective(NamedTuple):
    """Per completion token [tokens]: the whole loss, and of what it is made."""

    loss_N: Tensor
    ratio_N: Tensor
    """To the sampler, or to the old policy where old_logprobs = recompute."""
    clipped_N: Tensor
    kl_N: Tensor | None
    """Not yet times its coefficient."""


def objective(logprobs_N: Tensor, entropy_N: Tensor, tokens: Tokens, config: TrainerConfig) -> Objective:
    """What each token adds to the loss, before its row's weight. Terms of coefficient 0 are not in it."""
    surrogate = _surrogate(logprobs_N, tokens, config)
    loss_N, kl_N = surrogate.loss_N, None
    if tokens.reference_N is not None:
        kl_N = kl_estimate(logprobs_N, tokens.reference_N, config.kl_estimator)
        loss_N = loss_N + config.kl_coef * kl_N
    if config.entropy_coef:
        loss_N = loss_N - config.entropy_coef * entropy_N
    return Objective(loss_N, surrogate.ratio_N, surrogate.clipped_N, None if kl_N is None else kl_N.detach())


def _surrogate(logprobs_N: Tensor, tokens: Tokens, config: TrainerConfig) -> TokenLoss:
    sampler_N, advantages_N, cap = tokens.sampler_N, tokens.advantages_N, config.importance_cap
    clip = {"clip_low": config.clip_low, "clip_high": config.clip_high}
    if config.old_logprobs == "sampler":
        if cap is not None:
            return truncated_loss(logprobs_N, sampler_N, advantages_N, cap=cap)
        return clipped_loss(logprobs_N, sampler_N, advantages_N, **clip)
    old_N = logprobs_N.detach() if tokens.old_N is None else tokens.old_N
    clipped = clipped_loss(logprobs_N, old_N, advantages_N, **clip)
    return clipped if cap is None else corrected_loss(clipped, old_N, sampler_N, cap=cap)
