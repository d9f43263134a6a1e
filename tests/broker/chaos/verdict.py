"""Whether the contract was kept, judged by the journals of all who took part and by the log.

A message is known by its key and number, the id by which whoever reads the stream tells a duplicate.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.broker.chaos.journal import Acknowledged, Attempt, Delivered, History, Logged
from tests.broker.chaos.stands import Log, commits, commits_due, resumptions


@dataclass(frozen=True)
class Counts:
    """What a run was about."""

    acknowledged: int
    logged: int
    logged_again: int
    """Messages in the log whose id stands before them already."""
    delivered: int
    delivered_again: int


def counts(history: History) -> Counts:
    """The numbers of a run."""
    delivered = [event.place for event in history.all(Delivered)]
    return Counts(
        acknowledged=len(history.all(Acknowledged)),
        logged=len(history.log),
        logged_again=len(history.log) - len({message.id for message in history.log}),
        delivered=len(delivered),
        delivered_again=len(delivered) - len(set(delivered)),
    )


def violations(history: History, *, prefetch: int) -> list[str]:
    """What was not as the contract promises; nothing when it was kept."""
    log = Log(history)
    in_the_log = sorted(history.log, key=lambda message: message.place)
    return [
        *_lost(history, log),
        *_appended_too_often(history),
        *_scattered(history),
        *_out_of_order("the log", history, in_the_log),
        *_foreign(history, log),
        *_out_of_order("first deliveries", history, history.in_time(Delivered)),
        *_never_handled(log),
        *_passed_over(history, log, prefetch),
        *_taken_back(history, log, prefetch),
    ]


def _lost(history: History, log: Log) -> Iterator[str]:
    """Every acknowledged message is where its receipt says."""
    for ack in history.all(Acknowledged):
        if log.at.get(ack.place) != ack.id:
            yield f"lost: {ack.id} was acknowledged at {ack.place}; there is {log.at.get(ack.place)}"


def _appended_too_often(history: History) -> Iterator[str]:
    """Each attempt may append once: only one that was cut short and repeated leaves a duplicate."""
    attempts = Counter(attempt.id for attempt in history.all(Attempt))
    for name, times in Counter(message.id for message in history.log).items():
        if times > attempts[name]:
            yield f"duplicate: {name} is {times} times in the log, sent {attempts[name]} times"


def _scattered(history: History) -> Iterator[str]:
    partitions = defaultdict[str, set[int]](set)
    for message in history.log:
        partitions[message.key].add(message.partition)
    for key, found in partitions.items():
        if len(found) > 1:
            yield f"scattered: {key} is in the partitions {sorted(found)}"


def _out_of_order(where: str, history: History, found: Iterable[Logged | Delivered]) -> Iterator[str]:
    """Without the duplicates, each key's messages are all there, one after the other."""
    due = defaultdict[str, int](int)
    seen: set[tuple[str, int]] = set()
    for message in found:
        if message.id not in seen:
            if message.number != due[message.key]:
                yield f"order: {message.id} is in {where} where {due[message.key]} is due"
            due[message.key] = message.number + 1
        seen.add(message.id)
    for ack in history.all(Acknowledged):
        if ack.id not in seen:
            yield f"missing: {ack.id} was acknowledged and is not in {where}"


def _foreign(history: History, log: Log) -> Iterator[str]:
    for event in history.all(Delivered):
        if log.at.get(event.place) != event.id:
            yield f"foreign: {event.id} was delivered from {event.place}; there is {log.at.get(event.place)}"


def _never_handled(log: Log) -> Iterator[str]:
    for place, name in log.at.items():
        if place not in log.handled:
            yield f"unhandled: {name} at {place}"


def _passed_over(history: History, log: Log, prefetch: int) -> Iterator[str]:
    """Wherever the group stands, all before was handled by then."""
    for stand in [*commits(history), *resumptions(history, log, prefetch)]:
        if log.handled_up_to(stand.partition, stand.offset) > stand.time:
            yield f"passed over: not all was handled before {stand.partition}/{stand.offset} ({stand.who})"


def _taken_back(history: History, log: Log, prefetch: int) -> Iterator[str]:
    """What was committed, or had to be, comes again to nobody but a member that was stalled meanwhile."""
    reached = defaultdict[int, int](int)
    stands = [*commits(history), *resumptions(history, log, prefetch), *commits_due(history, log)]
    for stand in sorted(stands):
        if stand.how in ("committed", "resumed") and stand.offset < reached[stand.partition]:
            yield f"taken back: {stand} after {reached[stand.partition]}"
        if stand.how in ("committed", "due"):
            reached[stand.partition] = max(stand.offset, reached[stand.partition])
