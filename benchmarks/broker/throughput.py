"""Appending and reading: ours and bare in turn, on the same machine within the same seconds."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import anyio

from benchmarks.broker import ours
from benchmarks.broker.engines import Engine, Place
from benchmarks.broker.load import Load, Spent
from benchmarks.rows import Finding, Wanted, row


class Pair(NamedTuple):
    """One round of one direction."""

    ours: Spent
    bare: Spent


def both_ways(engine: Engine, load: Load, rounds: int) -> Iterator[Finding]:
    """Appending, and reading what was appended.

    The first round does not count: in it ours, which goes first, would warm a new node up for bare.
    """
    appended: list[Pair] = []
    read: list[Pair] = []
    for _ in range(1 + rounds):
        with engine.place() as place:
            appended.append(_append(place, load))
            read.append(_read(place, load))
    del appended[0], read[0]
    wanted = Wanted("ratio", "at least", engine.least_ratio)
    yield from _findings(f"broker.{engine.name}.produce.{load.name}", appended, wanted)
    yield from _findings(f"broker.{engine.name}.consume.{load.name}", read, wanted)


def appending(engine: Engine, how: str, load: Load, rounds: int) -> Iterator[Finding]:
    """Appending in another way, of which nothing is promised."""
    pairs: list[Pair] = []
    for _ in range(rounds):
        with engine.place() as place:
            pairs.append(_append(place, load))
    yield from _findings(f"broker.{engine.name}.{how}.{load.name}", pairs, None)


def _append(place: Place, load: Load) -> Pair:
    """Each writes to a place of its own, ours first: bare may look at how ours did it."""
    own = anyio.run(ours.produce, place.url, place.topic, load, backend="trio")
    return Pair(own, place.bare.produce(load))


def _read(place: Place, load: Load) -> Pair:
    own = anyio.run(ours.consume, place.url, place.topic, load, backend="trio")
    return Pair(own, place.bare.consume(load))


def _findings(name: str, pairs: Sequence[Pair], wanted: Wanted | None) -> Iterator[Finding]:
    """The rate; and the processor time, which a busy machine disturbs less."""
    yield row(name, median(p.ours.rate for p in pairs), "MB/s", median(p.bare.rate for p in pairs)), wanted
    cost = median(p.ours.cost for p in pairs), median(p.bare.cost for p in pairs)
    yield row(f"{name}.cpu", cost[0], "ms/MB", cost[1]), None
