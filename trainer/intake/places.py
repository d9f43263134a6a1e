"""Places on the stream that a checkpoint names: whether they are on this stream, and what stands there."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

from mentor_stream import topics
from mentor_stream.broker import Bounds, Message, OffsetGap, Receipt, TopicPartition
from mentor_stream.config import ConfigError
from mentor_stream.stream import Delivery, Stream
from schemas import Group
from trainer.intake.marks import Mark, mark_of

log = logging.getLogger(__name__)


def place_of(message: Message) -> Receipt:
    """Where a message stands."""
    return Receipt(message.topic, message.partition, message.offset)


def unread(bounds: Mapping[TopicPartition, Bounds], read_to: Mapping[TopicPartition, int]) -> int:
    """Records that are kept and have not been read."""
    return sum(max(0, b.next - max(b.first, read_to.get(place, b.first))) for place, b in bounds.items())


async def check(stream: Stream, offsets: Iterable[Receipt], marks: Iterable[Mark] = ()) -> None:
    """Raise ConfigError when this is another stream: it ends before these offsets, or holds other records.

    That is no gap, whatever topics.on_gap says: what was trained on is not what stands there. A mark that
    retention took is not looked for.
    """
    bounds = {**await stream.bounds(topics.GROUPS), **await stream.bounds(topics.COLLAPSED)}
    for topic, partition, offset in offsets:
        place = TopicPartition(topic, partition)
        end = bounds[place].next if place in bounds else 0
        if end < offset:
            raise _another(
                f"{topic}, partition {partition} ends at {end}, but the checkpoint had read to {offset}"
            )
    wanted = {m.place: m for m in marks if bounds[_partition(m.place)].first <= m.place.offset}
    for found in await _read(stream, wanted):
        if found != wanted[found.place]:
            topic, partition, offset = found.place
            raise _another(
                f"{topic}, partition {partition} has another record at {offset} than the checkpoint had read "
                "there: the topic was made anew, or fed from another dataset (data.train)"
            )


def _another(why: str) -> ConfigError:
    return ConfigError(
        f"run.broker: {why}: this is not the stream it was trained from. Bring that one back, or "
        "set another run.directory and start from the newest snapshot"
    )


async def _read(stream: Stream, places: Collection[Receipt]) -> list[Mark]:
    """What stands at these places, one a partition, in bytes: nothing is decoded."""
    start = {_partition(place): place.offset for place in places}
    found: list[Mark] = []
    if start:
        async with stream.broker.reader(start, follow=False, prefetch=1, on_gap="earliest") as messages:
            async for message in messages:
                if place_of(message) in places:
                    found.append(mark_of(message))
                if len(found) == len(start):
                    break
    return found


def _partition(place: Receipt) -> TopicPartition:
    return TopicPartition(place.topic, place.partition)


async def reread(stream: Stream, places: Sequence[Receipt]) -> list[Delivery[Group]]:
    """The groups at these places, in the order given, without those that the broker keeps no longer.

    Such a gap counts like one in what is read later: topics.on_gap says whether it raises OffsetGap.
    """
    wanted, found = set(places), dict[Receipt, Delivery[Group]]()
    for topic in (topics.GROUPS, topics.COLLAPSED):
        start = _start(await stream.bounds(topic), places)
        async with stream.reader(topic, start=start, follow=False, on_gap="earliest") as deliveries:
            async for delivery in deliveries:
                if (place := place_of(delivery.message)) in wanted:
                    found[place] = delivery
    _miss(stream, [place for place in places if place not in found])
    return [found[place] for place in places if place in found]


def _start(bounds: Mapping[TopicPartition, Bounds], places: Iterable[Receipt]) -> dict[TopicPartition, int]:
    """Where to begin in each partition so as to come by all places that it keeps; without any, at its end."""
    first: dict[TopicPartition, int] = {}
    for topic, partition, offset in places:
        where = TopicPartition(topic, partition)
        first[where] = min(first.get(where, offset), offset)
    return {where: max(b.first, first.get(where, b.next)) for where, b in bounds.items()}


def _miss(stream: Stream, gone: Sequence[Receipt]) -> None:
    if not gone:
        return
    topic, partition, offset = gone[0]
    first = f"the first one from {topic}, partition {partition}, offset {offset}"
    if stream.settings.on_gap == "fail":
        raise OffsetGap(
            f"{len(gone)} groups that waited for a batch are gone, {first}: retention was faster. Raise "
            "topics.groups.retention_hours and .retention_bytes to cover the time a run may pause; with "
            'topics.on_gap = "earliest" training goes on without them'
        )
    log.warning("%d groups that waited for a batch are gone, %s: going on without them", len(gone), first)
    stream.records_skipped += len(gone)
