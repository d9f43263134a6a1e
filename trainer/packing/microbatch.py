"""Packed rows as tensors, and which part of them each context-parallel rank has.

T positions of all sequences of a micro-batch, one sequence after the other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainer.packing.rows import Row


@dataclass(frozen=True)
class Multiples:
    """What lengths must be multiples of; sequences and micro-batches are filled up to it."""

    sequence: int = 1
    batch: int = 1


def multiples(context_parallel: int, shared: int = 1, positions: int = 1) -> Multiples:
    """Of what lengths must be multiples so that ranks can share them.

    Each of `context_parallel` ranks has two pieces of every sequence, alike in size; what it has of all
    sequences is parted among `shared` ranks (sequence parallel), each of which has a multiple of `positions`.
    """
    pieces = 2 * context_parallel if context_parallel > 1 else 1
    return Multiples(sequence=pieces, batch=math.lcm(pieces, context_parallel * shared * positions))


@dataclass(frozen=True)
class MicroBatch:
    """Rows that go through the model together.

    Per position [T]: token, its place in its sequence, target (the token that follows), whether the target is
    part of a completion; and of those that are: sampler log-prob, whether the sampler saw the same prompt,
    temperature, advantage, weight.
    """

    lengths: tuple[int, ...]
    """Of the sequences as they lie here, filled up; on a context-parallel rank still those of the whole."""
    tokens_T: Tensor
    positions_T: Tensor
    targets_T: Tensor
    completion_T: Tensor
    sampler_T: Tensor
    as_sampled_T: Tensor
    temperature_T: Tensor
    advantages_T: Tensor
    weights_T: Tensor

    def chosen(self, values_T: Tensor) -> Tensor:
        """The values at the positions that predict a completion token [N]."""
        return values_T[self.completion_T]

    def to(self, where: torch.device) -> "MicroBatch":
        """The same on a device."""
        return self._each(lambda tensor: tensor.to(where))

    def part(self, rank: int, ranks: int) -> "MicroBatch":
        """What one of the ranks has that share every sequence."""
        if ranks == 1:
            return self
        places = torch.cat(positions(self.lengths, rank, ranks))
        return self._each(lambda tensor: tensor[places])

    def _each(self, change: Callable[[Tensor], Tensor]) -> "MicroBatch":
        fields = {name: change(value) for name, value in vars(self).items() if name != "lengths"}
        return replace(self, **fields)


def positions(lengths: Sequence[int], rank: int, ranks: int) -> list[Tensor]:
    """Per sequence, which positions of the whole a rank has, in its order.

    Each sequence is cut into 2 x ranks pieces; a rank has one from the front and its mirror from the back,
    so that all have as much to attend to (megatron-core's layout).
    """
    places: list[Tensor] = []
    start = 0
    for length in lengths:
        piece = length // (2 * ranks)
        front, back = start + rank * piece, start + (2 * ranks - 1 - rank) * piece
        places.append(torch.cat([torch.arange(front, front + piece), torch.arange(back, back + piece)]))
        start += length
    return places


def collate(rows: Sequence[Row], multiples: Multiples) -> MicroBatch:
    """The micro-batch of these rows; of no rows one that has nothing to learn from."""
    filled = [_up(row.tokens, multiples.sequence) for row in rows]
    rest = _up(max(1, sum(filled)), max(multiples.batch, multiples.sequence)) - sum(filled)
    lengths = (*filled, rest) if rest else tuple(filled)
    width = sum(lengths)
    tokens_T, targets_T = np.zeros((2, width), np.int64)
    completion_T, as_sampled_T = np.zeros((2, width), np.bool_)
    sampler_T, advantages_T, weights_T = np.zeros((3, width), np.float32)
    temperature_T = np.ones(width, np.float32)
    start = 0
    for row, length in zip(rows, filled, strict=True):
        ids = np.concatenate([row.prompt_ids, row.completion_ids])
        end = start + row.tokens
        tokens_T[start:end], targets_T[start:end] = ids[:-1], ids[1:]
        predicting = slice(end - len(row.completion_ids), end)
        completion_T[predicting] = True
        sampler_T[predicting], as_sampled_T[predicting] = row.logprobs, row.as_sampled
        temperature_T[predicting], advantages_T[predicting] = row.temperature, row.advantage
        weights_T[predicting] = row.weight
        start += length
    return MicroBatch(
        lengths=lengths,
        tokens_T=torch.from_numpy(tokens_T),
        positions_T=torch.from_numpy(np.concatenate([np.arange(length) for length in lengths])),
        targets_T=torch.from_numpy(targets_T),
        completion_T=torch.from_numpy(completion_T),
        sampler_T=torch.from_numpy(sampler_T),
        as_sampled_T=torch.from_numpy(as_sampled_T),
        temperature_T=torch.from_numpy(temperature_T),
        advantages_T=torch.from_numpy(advantages_T),
        weights_T=torch.from_numpy(weights_T),
    )


def _up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple
