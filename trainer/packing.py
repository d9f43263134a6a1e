"""Rows to micro-batches: the only place that knows how sequences are laid out.

Today: rows of like length side by side, padded on the right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.rows import Row


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


def nothing(row: Row) -> MicroBatch:
    """A row's micro-batch without completion tokens, for a rank that got none and must still take part."""
    batch, none = _collate([row]), torch.zeros(0)
    masked = torch.zeros_like(batch.completion_BT)
    return MicroBatch(batch.tokens_BT, batch.targets_BT, masked, none, none, none, none)


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
