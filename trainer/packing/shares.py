"""A batch dealt out: which rows each data-parallel rank learns from, in which micro-batches and steps."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from schemas import Group
from trainer.config import TrainerConfig
from trainer.packing import balance
from trainer.packing.rows import Row, rows_of


class Part(NamedTuple):
    """What a rank has of one minibatch, which is one optimizer step."""

    packs: list[list[Row]]
    """The rows of its micro-batches: as many packs as every rank has, some perhaps without a row."""
    filled: int
    """Positions of all ranks' rows."""


class Share(NamedTuple):
    """What a rank has of a batch."""

    parts: list[Part]
    """One for each minibatch with something to learn from: as many as every rank has."""
    dropped: int
    """Rows of the whole batch left out because they are too long."""
    truncated: int
    """Rows of the whole batch without their end for that reason."""


def shares(groups: Sequence[Group], config: TrainerConfig) -> list[Share]:
    """The batch as each data-parallel rank has it, in the order of the ranks.

    Ranks wait for each other in every micro-batch, so they have as many, and nearly as many tokens in each.
    """
    minibatches = [rows_of(part, config) for part in parted(groups, config.minibatches)]
    dealt = [_dealt(rows.learned, config) for rows in minibatches if rows.learned]
    dropped, truncated = (
        sum(rows.dropped for rows in minibatches),
        sum(rows.truncated for rows in minibatches),
    )
    return [
        Share([parts[rank] for parts in dealt], dropped, truncated) for rank in range(config.data_parallel)
    ]


def parted(groups: Sequence[Group], count: int) -> list[Sequence[Group]]:
    """A batch in `count` parts alike in groups, in their order; some are empty where there are fewer."""
    bounds = [len(groups) * part // count for part in range(count + 1)]
    return [groups[start:end] for start, end in pairwise(bounds)]


def _dealt(rows: Sequence[Row], config: TrainerConfig) -> list[Part]:
    """One minibatch's rows among the ranks."""
    lengths = [row.tokens for row in rows]
    packs = balance.packs(lengths, config.max_tokens_per_microbatch, config.data_parallel)
    return [Part([[rows[place] for place in pack] for pack in own], sum(lengths)) for own in packs]
