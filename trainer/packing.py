"""From groups to what the model is run on: rows with their advantage and weight, rows to micro-batches.

The only place that knows how sequences are laid out. Today: rows of like length side by side, padded on
the right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from schemas import Group
from trainer import grpo
from trainer.config import TrainerConfig


@dataclass(frozen=True)
class Row:
    """One trajectory to learn from."""

    prompt_ids: NDArray[Any]
    completion_ids: NDArray[Any]
    logprobs: NDArray[Any]
    temperature: float
    advantage: float
    weight: float
    """Of each of its tokens in the batch's loss."""

    @property
    def tokens(self) -> int:
        """Positions that the model sees: the last token is only predicted."""
        return len(self.prompt_ids) + len(self.completion_ids) - 1


@dataclass(frozen=True)
class MicroBatch:
    """Rows that go through the model together.

    Per position [batch, sequence]: tokens, targets (the token that follows), and whether the target is
    part of a completion. Per completion token, row by row [tokens]: sampler, temperature, advantage, weight.
    """

    tokens_BT: Tensor
    targets_BT: Tensor
    completion_BT: Tensor
    sampler_N: Tensor
    temperature_N: Tensor
    advantages_N: Tensor
    weights_N: Tensor


def rows(groups: Sequence[Group], config: TrainerConfig) -> list[Row]:
    """The rows of a batch that move the policy: those with an advantage and a completion.

    The others are not run, but count in the normalization.
    """
    scored = [scored for group in groups for scored in _scored(group, config)]
    lengths_R = torch.tensor([len(row.completion_ids) for row in scored])
    weights_R = grpo.row_weights(lengths_R, config.normalization, constant_length=config.constant_length)
    weighted = zip(scored, weights_R.tolist(), strict=True)
    return [_weighted(row, w) for row, w in weighted if row.advantage != 0.0 and w > 0.0]


def micro_batches(given: Iterable[Row], max_tokens: int) -> list[MicroBatch]:
    """Micro-batches of at most `max_tokens` positions, padding included; a longer row goes alone."""
    batches: list[list[Row]] = []
    for row in sorted(given, key=lambda r: -r.tokens):
        # Rows come longest first, so the first row of a micro-batch sets its width.
        if batches and (len(batches[-1]) + 1) * batches[-1][0].tokens <= max_tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return [_collate(batch) for batch in batches]


def _scored(group: Group, config: TrainerConfig) -> list[Row]:
    """The judged trajectories of one group, with their advantages."""
    rewards = [t.reward for t in group.trajectories]
    rewards_1G = torch.tensor([[0.0 if r is None else r for r in rewards]], dtype=torch.float64)
    scorable_1G = torch.tensor([[r is not None for r in rewards]])
    advantages = grpo.group_advantages(rewards_1G, scorable_1G, scale_by_std=config.scale_by_std)[0].tolist()
    bare = group.bare_prompt_ids if config.drops_hints else None
    return [
        Row(
            prompt_ids=(bare or t.prompt_ids).numpy(),
            completion_ids=t.completion_ids.numpy(),
            logprobs=t.logprobs.numpy(),
            temperature=group.sampling.temperature,
            advantage=advantage,
            weight=0.0,
        )
        for t, advantage in zip(group.trajectories, advantages, strict=True)
        if t.reward is not None
    ]


def _weighted(row: Row, weight: float) -> Row:
    return Row(**{**row.__dict__, "weight": weight})


def _collate(batch: Sequence[Row]) -> MicroBatch:
    width = max(row.tokens for row in batch)
    tokens_BT = torch.zeros(len(batch), width, dtype=torch.int64)
    targets_BT = torch.zeros_like(tokens_BT)
    completion_BT = torch.zeros(len(batch), width, dtype=torch.bool)
    for b, row in enumerate(batch):
        ids = torch.cat([torch.tensor(row.prompt_ids), torch.tensor(row.completion_ids)]).long()
        tokens_BT[b, : row.tokens], targets_BT[b, : row.tokens] = ids[:-1], ids[1:]
        completion_BT[b, len(row.prompt_ids) - 1 : row.tokens] = True
    lengths_B = torch.tensor([len(row.completion_ids) for row in batch])

    def per_token(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32).repeat_interleave(lengths_B)

    return MicroBatch(
        tokens_BT=tokens_BT,
        targets_BT=targets_BT,
        completion_BT=completion_BT,
        sampler_N=torch.cat([torch.tensor(row.logprobs) for row in batch]),
        temperature_N=per_token([row.temperature for row in batch]),
        advantages_N=per_token([row.advantage for row in batch]),
        weights_N=per_token([row.weight for row in batch]),
    )
