"""Log-probability and entropy of every token, without ever holding logits for all of them.

The output layer is multiplied a chunk of tokens at a time, and again in the backward pass: 16,000 tokens over
128,000 words would be 8 GB in float32, and autograd would keep several such tensors. Each tensor-parallel
rank holds its share of the words; what is summed over all words is summed over the ranks.

N tokens, H hidden, V this rank's share of the vocabulary.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

CHUNK_LOGITS = 2**24
"""Logits that are in memory at once: 64 MB."""


@dataclass(frozen=True)
class Share:
    """Which words of the vocabulary this rank has, and with whom it shares the others."""

    first: int
    """The id of its first word."""
    words: int
    """How many it has, less those that only fill the last rank's share."""
    group: dist.ProcessGroup | None = None
    """None where it has all."""


class TokenScores(NamedTuple):
    """Per token [tokens], float32: log-probability of the target, entropy of the distribution, in nats."""

    logprobs_N: Tensor
    entropy_N: Tensor


def token_scores(
    hidden_NH: Tensor, weight_VH: Tensor, targets_N: Tensor, temperature_N: Tensor, share: Share
) -> TokenScores:
    """Under softmax(hidden x weight / temperature); the same on every rank, gradients are its share's."""
    chunk = max(1, CHUNK_LOGITS // share.words)
    return TokenScores(*_Scores.apply(hidden_NH, weight_VH, targets_N, temperature_N, share, chunk))


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_NH: Tensor, weight_VH: Tensor, targets_N: Tensor, temperature_N: Tensor,
        share: Share, chunk: int,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        ctx.share, ctx.chunk = share, chunk
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        kept_NV: Tensor | None = None
        for part in _parts(len(targets_N), chunk):
            logits_CV = _logits(hidden_NH[part], weight_VH, temperature_N[part], share)
            found.append(_scores(logits_CV, targets_N[part], share))
            # what fits into one chunk need not be computed again
            kept_NV = logits_CV.sub_(found[-1][2][:, None]) if chunk >= len(targets_N) else None
        empty_N = temperature_N.new_zeros(0, dtype=torch.float32)
        logprobs_N, entropy_N, normalizer_N = (
            torch.cat(parts) for parts in zip(*(found or [(empty_N,) * 3]), strict=True)
        )
        ctx.save_for_backward(
            hidden_NH, weight_VH, targets_N, temperature_N, entropy_N, normalizer_N, kept_NV
        )
        return logprobs_N, entropy_N

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        by_logprob_N, by_entropy_N = gradients
        hidden_NH, weight_VH, targets_N, temperature_N, entropy_N, normalizer_N, kept_NV = ctx.saved_tensors
        by_hidden_NH = torch.zeros_like(hidden_NH)
        by_weight_VH = torch.zeros_like(weight_VH, dtype=torch.float32)
        own_VH = by_weight_VH[: ctx.share.words]
        for part in _parts(len(targets_N), ctx.chunk):
            if kept_NV is None:
                logits_CV = _logits(hidden_NH[part], weight_VH, temperature_N[part], ctx.share)
                logits_CV.sub_(normalizer_N[part, None])
            else:
                logits_CV = kept_NV.clone()
            by_logits_CV = _by_logits(
                logits_CV, entropy_N[part], by_logprob_N[part], by_entropy_N[part], targets_N[part], ctx.share
            )
            by_logits_CV = by_logits_CV.div_(temperature_N[part, None]).to(hidden_NH.dtype)
            by_hidden_NH[part] = by_logits_CV @ weight_VH[: ctx.share.words]
            own_VH += by_logits_CV.t() @ hidden_NH[part]
        return by_hidden_NH, by_weight_VH.to(weight_VH.dtype), None, None, None, None


def _parts(tokens: int, chunk: int) -> list[slice]:
    return [slice(start, start + chunk) for start in range(0, tokens, chunk)]


def _logits(hidden_CH: Tensor, weight_VH: Tensor, temperature_C: Tensor, share: Share) -> Tensor:
    return (hidden_CH @ weight_VH[: share.words].t()).float().div_(temperature_C[:, None])


def _scores(logits_CV: Tensor, targets_C: Tensor, share: Share) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities, entropies, and the logarithm of what normalises the logits."""
    largest_C = logits_CV.amax(-1)
    if share.group is not None:
        dist.all_reduce(largest_C, dist.ReduceOp.MAX, group=share.group)
    shifted_CV = logits_CV - largest_C[:, None]
    place_C1, mine_C = _place(targets_C, share)
    target_C = shifted_CV.gather(1, place_C1)[:, 0].where(mine_C, 0.0)
    weights_CV = shifted_CV.exp()
    sums_3C = torch.stack([target_C, weights_CV.sum(-1), weights_CV.mul_(shifted_CV).sum(-1)])
    if share.group is not None:
        dist.all_reduce(sums_3C, group=share.group)
    target_C, total_C, weighted_C = sums_3C
    log_total_C = total_C.log()
    return target_C - log_total_C, log_total_C - weighted_C / total_C, largest_C + log_total_C


def _by_logits(
    logprobs_CV: Tensor, entropy_C: Tensor, by_logprob_C: Tensor, by_entropy_C: Tensor, targets_C: Tensor,
    share: Share,
) -> Tensor:  # fmt: skip
    """The gradient: of a log-probability [target] - p, of the entropy -p (log p + entropy)."""
    probabilities_CV = logprobs_CV.exp()
    place_C1, mine_C = _place(targets_C, share)
    if by_entropy_C.count_nonzero():
        slope_CV = logprobs_CV.add_(entropy_C[:, None]).mul_(by_entropy_C[:, None])
        slope_CV.add_(by_logprob_C[:, None]).mul_(probabilities_CV).neg_()
    else:
        slope_CV = probabilities_CV.mul_(-by_logprob_C[:, None])
    return slope_CV.scatter_add_(1, place_C1, by_logprob_C.where(mine_C, 0.0)[:, None])


def _place(targets_C: Tensor, share: Share) -> tuple[Tensor, Tensor]:
    """Each target's column here, or any column, and whether it is here."""
    column_C = targets_C - share.first
    mine_C = (column_C >= 0) & (column_C < share.words)
    return column_C.clamp(0, share.words - 1)[:, None], mine_C
