"""One token for each row out of the model's logits, with the log-prob it was really sampled with."""

import torch
from torch import Tensor

from schemas import Sampling


def choose(logits_RV: Tensor, sampling: Sampling, draws_R: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens [rows] and their float32 log-probs [rows]; `draws_R` are float64, uniform in [0, 1).

    The log-probs are of the distribution after temperature, top-k and top-p. Temperature 0 is greedy,
    with the log-probs of temperature 1.
    """
    if sampling.temperature == 0:
        logprobs_RV = logits_RV.float().log_softmax(-1)
        tokens_R = logprobs_RV.argmax(-1)
    else:
        kept_RV = truncated(logits_RV.float() / sampling.temperature, sampling.top_k, sampling.top_p)
        logprobs_RV = kept_RV.log_softmax(-1)
        tokens_R = inverse_cdf(logprobs_RV.double().exp(), draws_R)
    return tokens_R, logprobs_RV.gather(-1, tokens_R[:, None])[:, 0]


def truncated(logits_RV: Tensor, top_k: int, top_p: float) -> Tensor:
    """The logits with those outside the top-k (0: all), then outside the nucleus, at minus infinity.

    The nucleus is the smallest set of likeliest tokens whose probabilities reach `top_p`
    (arXiv 1904.09751); it always holds the likeliest one.
    """
    if 0 < top_k < logits_RV.shape[-1]:
        least_R1 = logits_RV.topk(top_k, dim=-1).values[:, -1:]
        logits_RV = logits_RV.masked_fill(logits_RV < least_R1, -torch.inf)
    if top_p < 1:
        sorted_RV, order_RV = logits_RV.sort(dim=-1, descending=True, stable=True)
        probabilities_RV = sorted_RV.softmax(-1)
        before_RV = probabilities_RV.cumsum(-1) - probabilities_RV
        outside_RV = (before_RV >= top_p).scatter(-1, order_RV, before_RV >= top_p)
        logits_RV = logits_RV.masked_fill(outside_RV, -torch.inf)
    return logits_RV


def inverse_cdf(probabilities_RV: Tensor, draws_R: Tensor) -> Tensor:
    """For each row the token in whose share of [0, total) the draw falls; never one of probability 0."""
    cdf_RV = probabilities_RV.cumsum(-1)
    total_R1 = cdf_RV[:, -1:]
    below_total_R1 = torch.nextafter(total_R1, torch.zeros_like(total_R1))
    targets_R1 = torch.minimum(draws_R[:, None] * total_R1, below_total_R1)
    return torch.searchsorted(cdf_RV, targets_R1, right=True)[:, 0]
