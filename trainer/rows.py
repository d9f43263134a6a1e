"""Groups to rows: what there is to learn from each trajectory, and how much it counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray

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


def rows_of(groups: Sequence[Group], config: TrainerConfig) -> list[Row]:
    """The rows of a batch that move the policy: those with an advantage and a completion.

    The others are not run, but count in the normalization.
    """
    scored = [scored for group in groups for scored in _scored(group, config)]
    lengths_R = torch.tensor([len(row.completion_ids) for row in scored])
    weights_R = grpo.row_weights(lengths_R, config.normalization, constant_length=config.constant_length)
    weighted = zip(scored, weights_R.tolist(), strict=True)
    return [replace(row, weight=w) for row, w in weighted if row.advantage != 0.0 and w > 0.0]


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
