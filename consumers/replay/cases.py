"""Recorded collapsed groups, in an order that never changes: partition by partition."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from consumers import following
from mentor_stream import topics
from mentor_stream.broker import Bounds, Broker, TopicPartition
from mentor_stream.config import ConfigError
from schemas import Group

Range = Mapping[TopicPartition, Bounds]
"""Of each partition the first offset to read, and the one after the last."""
_OFFSETS = re.compile(r"(\d{1,9}):(\d{0,18})-(\d{0,18})")


class Cases:
    """One pass over a range."""

    def __init__(self, broker: Broker, run: str, wanted: Range) -> None:
        self._broker, self._run, self._wanted = broker, run, wanted
        self.unreadable = self.repeated = 0

    @property
    def count(self) -> int:
        """Records in the range, at most."""
        return sum(max(0, bounds.next - bounds.first) for bounds in self._wanted.values())

    async def read(self) -> AsyncGenerator[Group]:
        """The groups, each once. What retention has taken and what cannot be read is passed over."""
        seen: set[str] = set()
        for place, (first, after) in sorted(self._wanted.items()):
            if first >= after:
                continue
            events = following.events(
                self._broker, self._run, (topics.COLLAPSED,), {place: first}, follow=False
            )
            async with aclosing(events):
                async for event in events:
                    if event.offset >= after:
                        break
                    if not isinstance(event.record, Group):
                        self.unreadable += 1
                    elif event.record.group_id in seen:
                        self.repeated += 1
                    else:
                        seen.add(event.record.group_id)
                        yield event.record


async def between(broker: Broker, run: str, since: float | None, until: float | None) -> Range:
    """What was appended from one moment to another, up to now. Raises UnknownTopic."""
    name = topics.COLLAPSED.of(run)
    bounds = await broker.bounds(name)
    begins = await broker.offsets_at(name, since) if since is not None else {}
    ends = await broker.offsets_at(name, until) if until is not None else {}
    return {
        place: Bounds(max(kept.first, begins.get(place, 0)), min(kept.next, ends.get(place, kept.next)))
        for place, kept in bounds.items()
    }


async def at(broker: Broker, run: str, offsets: str) -> Range:
    """What stands at offsets such as `0:17-40,1:-99`, ends included. Raises ConfigError, UnknownTopic."""
    bounds = await broker.bounds(topics.COLLAPSED.of(run))
    found: dict[TopicPartition, Bounds] = {}
    for part in offsets.split(","):
        read = _OFFSETS.fullmatch(part.strip())
        place = TopicPartition(topics.COLLAPSED.of(run), int(read[1])) if read else None
        if read is None or place is None:
            raise ConfigError(
                f"--offsets is {offsets!r}: expected PARTITION:FIRST-LAST, such as 0:17-40,1:-99"
            )
        if place not in bounds:
            raise ConfigError(
                f"--offsets is {offsets!r}: {place.topic} has {len(bounds)} partitions, from 0 on"
            )
        if place in found:
            raise ConfigError(f"--offsets is {offsets!r}: partition {place.partition} is there twice")
        kept = bounds[place]
        first, after = int(read[2] or 0), int(read[3]) + 1 if read[3] else kept.next
        if read[3] and first >= after:
            raise ConfigError(f"--offsets is {offsets!r}: {part.strip()} ends before it begins")
        found[place] = Bounds(max(kept.first, first), min(kept.next, after))
    return found
