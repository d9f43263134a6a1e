"""Which rows go through the model together: by their lengths alone. No tensors.

Sequences are packed one after the other, so nothing is spent on padding but what the ranks that share a
sequence ask for.
"""

import heapq
from collections.abc import Sequence
from math import ceil

Pack = list[int]
"""Places of the rows that make a micro-batch, the longest first; none for a rank without work."""


def packs(lengths: Sequence[int], most: int, ranks: int) -> list[list[Pack]]:
    """For each of `ranks` its micro-batches: every row once, as many packs for each rank, alike in tokens.

    A pack has at most `most` positions; a longer row has one to itself. The longest rows are dealt first,
    each to the pack that has least (longest-processing-time rule, R. L. Graham, 1969), into as few packs as
    then suffice: the result depends on the lengths only, and no two packs differ by more than a row.
    """
    wanted = max(1, ceil(sum(lengths) / most))
    while True:
        count = ceil(wanted / ranks) * ranks
        dealt = _dealt(lengths, count)
        if count >= len(lengths) or all(_fits(pack, lengths, most) for pack in dealt):
            break
        wanted = count + 1
    dealt.sort(key=lambda pack: -sum(lengths[i] for i in pack))
    return [dealt[rank::ranks] for rank in range(ranks)]


def _dealt(lengths: Sequence[int], count: int) -> list[Pack]:
    dealt: list[Pack] = [[] for _ in range(count)]
    emptiest = [(0, number) for number in range(count)]
    for row in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        tokens, number = heapq.heappop(emptiest)
        dealt[number].append(row)
        heapq.heappush(emptiest, (tokens + lengths[row], number))
    return dealt


def _fits(pack: Pack, lengths: Sequence[int], most: int) -> bool:
    return len(pack) <= 1 or sum(lengths[i] for i in pack) <= most
