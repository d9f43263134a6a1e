"""Where a group stood in each partition, as far as the journals tell."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import Literal, NamedTuple

from tests.broker.chaos.journal import Committed, Delivered, Handled, History, Woken

COMMIT_SECONDS = 5.0
"""What a member has handled for so long, at work all the time, must be committed."""
GAP_SECONDS = 0.5
"""A longer silence of a member (it was stopped, the broker was away) counts as so much work."""


class Log:
    """The messages of each partition, and when each was handled first."""

    def __init__(self, history: History) -> None:
        self.at = {(message.partition, message.offset): message.id for message in history.log}
        self.handled: dict[tuple[int, int], float] = {}
        for event in history.in_time(Handled):
            self.handled.setdefault((event.partition, event.offset), event.time)
        self._offsets = defaultdict[int, list[int]](list)
        for partition, offset in sorted(self.at):
            self._offsets[partition].append(offset)
        self._handled_up_to = {
            partition: list(accumulate((self.handled.get((partition, o), inf) for o in offsets), max))
            for partition, offsets in self._offsets.items()
        }

    def rank(self, partition: int, offset: int) -> int:
        """How many messages stand before the offset."""
        return bisect_left(self._offsets[partition], offset)

    def handled_up_to(self, partition: int, offset: int) -> float:
        """Since when every message before the offset has been handled; infinity when one never was."""
        rank = self.rank(partition, offset)
        return self._handled_up_to[partition][rank - 1] if rank else -inf


class Stand(NamedTuple):
    """The group is at `offset` of the partition: all before was committed, nothing from there on."""

    time: float
    partition: int
    offset: int
    who: str
    how: Literal["committed", "due", "resumed", "stale"]
    """Seen by the watcher; owed by a member by then; where a member went on; where one went on with what
    it may have fetched before it was stalled."""


def commits(history: History) -> Iterator[Stand]:
    """What the watcher has seen."""
    for seen in history.all(Committed):
        yield Stand(seen.time, seen.partition, seen.offset, "the group", "committed")


def resumptions(history: History, log: Log, prefetch: int) -> Iterator[Stand]:
    """Where members began in a partition, or went on elsewhere than behind their last message."""
    for member, journal in history.journals.items():
        woken = [event.time for event in history.all(Woken) if event.member == member]
        delivered = [event for event in journal if isinstance(event, Delivered)]
        at: dict[int, int] = {}
        for index, event in enumerate(delivered):
            rank = log.rank(event.partition, event.offset)
            if at.get(event.partition) != rank:
                # a member that wakes up has at most `prefetch` messages that it fetched before
                begin = delivered[index - prefetch].time if index >= prefetch else -inf
                stale = any(begin <= time <= event.time for time in woken)
                how = "stale" if stale else "resumed"
                yield Stand(event.time, event.partition, event.offset, member, how)
            at[event.partition] = rank + 1


@dataclass
class _Holding:
    """What a member was handed of a partition without a break, and when it had handled it."""

    next: int
    delivered: deque[int] = field(default_factory=deque)
    handled: dict[int, float] = field(default_factory=dict)
    since: float = -inf

    def handled_before(self, moment: float) -> int | None:
        """The end of what was all handled before the moment, if that is news."""
        end = None
        while self.delivered:
            since = max(self.since, self.handled.get(self.delivered[0], inf))
            if since > moment:
                break
            self.since, end = since, self.delivered.popleft() + 1
        return end


def commits_due(history: History, log: Log) -> Iterator[Stand]:
    """What members must have committed when they got another message of the partition."""
    for member, journal in history.journals.items():
        holdings: dict[int, _Holding] = {}
        worked = before = 0.0
        for event in journal:
            if not isinstance(event, Delivered | Handled):
                continue
            worked, before = worked + min(event.time - before, GAP_SECONDS), event.time
            if isinstance(event, Handled):
                holdings[event.partition].handled[event.offset] = worked
                continue
            rank = log.rank(event.partition, event.offset)
            holding = holdings.get(event.partition)
            if holding is None or holding.next != rank:
                holding = holdings[event.partition] = _Holding(rank)
            holding.next += 1
            holding.delivered.append(event.offset)
            due = holding.handled_before(worked - COMMIT_SECONDS)
            if due is not None:
                yield Stand(event.time, event.partition, due, member, "due")
