"""Groups to rows: what there is to learn from each trajectory, and how much it counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    as_sampled: bool = True
    """Whether it is learned from under the prompt that the sampler saw."""
    truncated: bool = False
    """Whether it ends before its completion did."""

    @property
    def tokens(self) -> int:
        """Positions that the model sees: the last token is only predicted."""
        return len(self.prompt_ids) + len(self.completion_ids) - 1


class Rows(NamedTuple):
    """The rows of a batch that move the policy."""

    learned: list[Row]
    dropped: int
    """Rows left out because they are too long."""

    @property
    def truncated(self) -> int:
        """Rows without their end because they are too long."""
        return sum(row.truncated for row in self.learned)


def rows_of(groups: Sequence[Group], config: TrainerConfig) -> Rows:
    """The rows of a batch that move the policy: those with an advantage and a completion; where there is a KL
    or entropy term, all judged ones with a completion.

    The others are not run, but count in the normalization, and so do rows dropped for their length; of
    truncated ones counts what is left.
    """
    most = config.max_tokens_per_microbatch
    scored = [scored for group in groups for scored in _scored(group, config)]
    if config.long_rows == "truncate":
        scored = [_truncated(row, most) for row in scored]
    lengths_R = torch.tensor([len(row.completion_ids) for row in scored])
    weights_R = grpo.row_weights(lengths_R, config.normalization, constant_length=config.constant_length)
    weighted = zip(scored, weights_R.tolist(), strict=True)
    moving = [
        replace(row, weight=w)
        for row, w in weighted
        if (row.advantage != 0.0 or config.learns_from_silence) and w > 0.0
    ]
    kept = [row for row in moving if row.tokens <= most or config.long_rows == "alone"]
    return Rows(kept, dropped=len(moving) - len(kept))


def _truncated(row: Row, most: int) -> Row:
    """Without as much of its end as is too long; whole where the prompt alone is."""
    left = len(row.completion_ids) - max(0, row.tokens - most)
    if left == len(row.completion_ids) or left <= 0:
        return row
    return replace(
        row, completion_ids=row.completion_ids[:left], logprobs=row.logprobs[:left], truncated=True
    )


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
            as_sampled=not bare,
        )
        for t, advantage in zip(group.trajectories, advantages, strict=True)
        if t.reward is not None
    ]
