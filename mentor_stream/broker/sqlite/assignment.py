"""Who of a consumer group reads which partition."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

P = TypeVar("P")
M = TypeVar("M")


def balance(
    partitions: Sequence[Sequence[P]], members: Sequence[Sequence[M]], current: Mapping[P, M]
) -> dict[P, M]:
    """A reader for every partition, the partitions of each topic as even as can be, few of them moving.

    Topic by topic: its partitions, and the members that read it (in the order they joined; none leaves
    the topic's partitions out). Everyone who computes it gets the same.
    """
    assigned: dict[P, M] = {}
    load: Counter[M] = Counter()
    for ids, readers in zip(partitions, members, strict=True):
        if not readers:
            continue
        kept = _kept(ids, readers, current)
        held = Counter(kept.values())
        load.update(held)
        for partition in ids:
            if partition not in kept:
                lightest = min(readers, key=lambda reader: (held[reader], load[reader]))
                kept[partition] = lightest
                held[lightest] += 1
                load[lightest] += 1
        assigned.update(kept)
    return assigned


def _kept(ids: Iterable[P], readers: Sequence[M], current: Mapping[P, M]) -> dict[P, M]:
    """What may stay where it is: a fair share each, and one more for as many as the remainder allows."""
    ids = list(ids)
    fair, spare = divmod(len(ids), len(readers))
    kept: dict[P, M] = {}
    held: Counter[M] = Counter()
    for partition in ids:
        reader = current.get(partition)
        if reader is None or reader not in readers or held[reader] > fair:
            continue
        if held[reader] == fair:
            if not spare:
                continue
            spare -= 1
        kept[partition] = reader
        held[reader] += 1
    return kept
