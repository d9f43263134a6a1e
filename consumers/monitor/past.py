"""What lies further back than memory reaches, read again from the stream: single records, and backwards."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import anyio

from consumers import following
from consumers.following import Event
from consumers.monitor.index import Place
from mentor_stream import topics
from mentor_stream.broker import Bounds, Broker, TopicPartition
from mentor_stream.topics import Topic

BLOCK = 250
"""Records of each partition that are read at once, going backwards."""

Ends = Mapping[TopicPartition, int]
"""Of each partition the offset before which to look."""


T = TypeVar("T")


class Match(NamedTuple, Generic[T]):
    """What is kept of a record that may be wanted."""

    time: float
    """When the record was appended."""
    what: T


class Wanted(Protocol[T]):
    """What is searched for."""

    def kept(self, event: Event) -> T | None:
        """What to keep, until its block is known, of a record that may be wanted: asked as it is read."""
        ...

    def among(self, matches: list[Match[T]]) -> list[Match[T]]:
        """Which of a block's are wanted, in the same order, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a search came upon."""

    matches: list[T]
    """The newest first; nothing between them was left out."""
    reached: float | None
    """Everything from this moment on has been looked at; None where nothing older is kept."""


async def read(broker: Broker, run: str, places: Iterable[Place]) -> list[Event]:
    """The records at these places, in the order of time; those that retention took are left out."""
    waiting: dict[TopicPartition, list[int]] = {}
    for topic, partition, offset in sorted(set(places), reverse=True):
        waiting.setdefault(TopicPartition(f"{run}.{topic}", partition), []).append(offset)
    events: list[Event] = []
    while waiting:
        events += await _firsts(broker, run, {place: offsets.pop() for place, offsets in waiting.items()})
        waiting = {place: offsets for place, offsets in waiting.items() if offsets}
    return sorted(events, key=lambda event: event.time)


async def _firsts(broker: Broker, run: str, wanted: dict[TopicPartition, int]) -> list[Event]:
    """One record of each of several partitions."""
    events, missing = list[Event](), set(wanted)
    async with aclosing(following.events(broker, run, _topics(run, wanted), wanted, follow=False)) as stream:
        async for event in stream:
            if event.place in missing:
                missing.remove(event.place)
                if event.offset == wanted[event.place]:
                    events.append(event)
                if not missing:
                    break
    return events


async def search(
    broker: Broker,
    run: str,
    wanted_topics: Sequence[Topic[Any]],
    wanted: Wanted[T],
    *,
    before: float | None,
    count: int,
    seconds: float,
) -> Found[T]:
    """About `count` records that are wanted, going back in time from a moment or from the end.

    Comes back with fewer when that many seconds are over or nothing older is kept. Raises BrokerError.
    """
    bounds: dict[TopicPartition, Bounds] = {}
    ends: dict[TopicPartition, int] = {}
    for topic in wanted_topics:
        kept = await broker.bounds(topic.of(run))
        begun = await broker.offsets_at(topic.of(run), before) if before is not None else {}
        bounds.update(kept)
        ends.update({place: min(begun.get(place, b.next), b.next) for place, b in kept.items()})
    found: list[T] = []
    reached = None
    until = anyio.current_time() + seconds
    while any(end > bounds[place].first for place, end in ends.items()):
        block = await _block(broker, run, ends, bounds, wanted)
        chosen = wanted.among(sorted(block.chosen, key=lambda match: match.time, reverse=True))
        if len(found) + len(chosen) > count:
            block = block.later(ends, chosen[count - len(found) - 1].time)
            chosen = [match for match in chosen if match.time >= block.since]
        found += [match.what for match in chosen]
        ends, reached = block.starts, block.since
        if len(found) >= count or anyio.current_time() > until:
            break
    older = any(end > bounds[place].first for place, end in ends.items())
    return Found(found, reached if older else None)


@dataclass(frozen=True, slots=True)
class _Block(Generic[T]):
    """All records of all partitions from a moment on, up to where they were looked at already."""

    seen: list[tuple[float, TopicPartition, int]]
    """When each was appended, and where it stands."""
    chosen: list[Match[T]]
    starts: dict[TopicPartition, int]
    since: float

    def later(self, ends: Ends, moment: float) -> "_Block[T]":
        """The part from a moment on."""
        seen = [one for one in self.seen if one[0] >= moment]
        starts = dict(ends)
        for _, place, offset in seen:
            starts[place] = min(starts[place], offset)
        return _Block(seen, [match for match in self.chosen if match.time >= moment], starts, moment)


async def _block(
    broker: Broker,
    run: str,
    ends: Ends,
    bounds: Mapping[TopicPartition, Bounds],
    wanted: Wanted[T],
) -> _Block[T]:
    begins = {place: max(bounds[place].first, end - BLOCK) for place, end in ends.items()}
    begins = {place: begin for place, begin in begins.items() if begin < ends[place]}
    block: _Block[T] = _Block([], [], {**ends, **begins}, 0.0)
    open_, oldest, newest = set(begins), dict[TopicPartition, float](), dict[TopicPartition, float]()
    async with aclosing(following.events(broker, run, _topics(run, begins), begins, follow=False)) as stream:
        async for event in stream:
            place = event.place
            if event.offset < ends[place]:
                # a clock that was set back must not lose records between two blocks
                time = newest[place] = max(event.time, newest.get(place, 0.0))
                oldest.setdefault(place, time)
                block.seen.append((time, place, event.offset))
                kept = wanted.kept(replace(event, time=time))
                if kept is not None:
                    block.chosen.append(Match(time, kept))
            if event.offset + 1 >= ends[place]:
                open_.discard(place)
                if not open_:
                    break
    # before the latest of these, some partition has records that were not read yet
    cut = [time for place, time in oldest.items() if begins[place] > bounds[place].first]
    if cut:
        return block.later(ends, max(cut))
    return replace(block, since=min(oldest.values(), default=0.0))


def _topics(run: str, places: Iterable[TopicPartition]) -> list[Topic[Any]]:
    names = {place.topic for place in places}
    return [topic for topic in topics.ALL if topic.of(run) in names]
