"""The order in which questions are fed: a pure function of seed, epoch and number of rows."""

from functools import lru_cache

import numpy as np

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


def row_at(position: int, *, rows: int, seed: int) -> tuple[int, int]:
    """Epoch and row of a place in the feeder's endless order. Every epoch holds each row once."""
    epoch, place = divmod(position, rows)
    return epoch, int(shuffled(rows, seed, epoch)[place])


@lru_cache(maxsize=2)
def shuffled(rows: int, seed: int, epoch: int) -> Rows:
    """A permutation of the rows [rows]; the same on every machine.

    numpy freezes what RandomState gives for a seed, and promises no such thing of its newer generators:
    a feeder that is updated during a run must go on in the same order.
    """
    words = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF, epoch & 0xFFFFFFFF, epoch >> 32]
    return np.random.RandomState(words).permutation(rows).astype(np.int64)
