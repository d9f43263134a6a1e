"""Which groups make a batch: decided from their order of arrival alone, without I/O and without a clock.

Every group is booked once, the first time it arrives. Those that may teach something wait in order; as
soon as enough of them wait, a batch is cut. Cutting after every arrival makes the result a function of
the order: how fast groups come, and what the trainer does meanwhile, changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from mentor_stream.broker import Receipt
from schemas import Consumed, Group, Origin
from trainer.intake.seen import Seen


@dataclass(frozen=True)
class CutRule:
    """What a batch is."""

    batch_groups: int
    max_staleness: int
    max_guided_fraction: float
    keep_silent: bool
    """A judged group without a learning signal takes a place, with zero advantage (plain GRPO)."""

    @property
    def guided_places(self) -> int:
        """Guided groups that one batch may hold."""
        return int(self.max_guided_fraction * self.batch_groups + 1e-9)

    @property
    def guided_backlog(self) -> int:
        """Guided groups worth keeping: what waits behind these is stale before its turn comes."""
        return self.guided_places * (1 + self.max_staleness)


class Pending(NamedTuple):
    """A group that waits for its batch, and where it stands on the stream."""

    group: Group
    place: Receipt


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """All that must survive a restart, beside the consumed ids. Pending groups are read again."""

    offsets: tuple[Receipt, ...]
    """Per partition the next offset to read."""
    pending: tuple[Receipt, ...]
    """Where the waiting groups stand, in order of arrival."""
    booked: Consumed
    surplus: int


def rewards(group: Group) -> list[float]:
    """Rewards of the trajectories that were judged."""
    return [t.reward for t in group.trajectories if t.reward is not None]


def is_judged(group: Group) -> bool:
    """Whether at least two trajectories can be compared."""
    return len(rewards(group)) >= 2


def has_signal(group: Group) -> bool:
    """Whether the judged trajectories differ, so that an advantage is not zero."""
    return len(set(rewards(group))) >= 2


def distance(group: Group, version: int) -> int:
    """How many versions at most lie between a policy that sampled a part of the group and `version`.

    A policy of the future is as far as one of the past: after a fall-back to a checkpoint groups come in that
    were sampled by versions which are yet to be trained again. A group without tokens is near to all.
    """
    sampled_by = (run.policy_version for row in group.trajectories for run in row.policy)
    return max((abs(version - each) for each in sampled_by), default=0)


class Arrivals:
    """Books groups as they arrive and cuts batches."""

    def __init__(self, rule: CutRule) -> None:
        self.rule = rule
        self.booked = Consumed()
        """The counters but `accepted`, which takes the version to know: see `consumed`."""
        self.surplus = 0
        """Guided groups let go because batches had no place for them."""
        self._seen = Seen()
        self._offsets: dict[tuple[str, int], int] = {}
        self._pending: list[Pending] = []

    def arrive(self, group: Group, place: Receipt, *, collapsed: bool, usable: bool = True) -> bool:
        """Book a group; False when it was booked before. A group that is not `usable` never trains."""
        self._offsets[place.topic, place.partition] = place.offset + 1
        if not self._seen.add(group.group_id):
            return False
        self._book(group, collapsed)
        if usable and (has_signal(group) or (self.rule.keep_silent and is_judged(group))):
            self._pending.append(Pending(group, place))
            self._bound_guided()
        return True

    def cut(self, version: int) -> list[Group] | None:
        """The next batch for policy `version`, in order of arrival, or None while too few groups wait.

        No token in it is more than max_staleness versions away, and guided groups keep to their share.
        """
        self._drop_stale(version)
        chosen = self._places()
        if len(chosen) < self.rule.batch_groups:
            return None
        taken = set(chosen)
        batch = [self._pending[i].group for i in chosen]
        self._pending = [p for i, p in enumerate(self._pending) if i not in taken]
        return batch

    def consumed(self, version: int) -> Consumed:
        """All counters, at policy `version`, which took as many batches.

        A guided group beyond its share holds no place: it must not slow the feeder.
        """
        accepted = version * self.rule.batch_groups + len(self._places())
        return msgspec.structs.replace(self.booked, accepted=accepted)

    @property
    def waiting(self) -> int:
        """Groups that wait for a batch, with a place in the next one or without."""
        return len(self._pending)

    @property
    def placed(self) -> int:
        """Groups that have a place in the next batch."""
        return len(self._places())

    def ledger(self) -> Ledger:
        """The state to keep."""
        return Ledger(
            offsets=tuple(Receipt(*key, offset) for key, offset in sorted(self._offsets.items())),
            pending=tuple(p.place for p in self._pending),
            booked=self.booked,
            surplus=self.surplus,
        )

    def consumed_ids(self) -> bytes:
        """The booked groups, so that a repeat is known after a restart."""
        return self._seen.dump()

    def restore(self, ledger: Ledger, consumed_ids: bytes, pending: Iterable[Pending]) -> None:
        """Continue from a kept state; `pending` are the ledger's waiting groups, read again."""
        self._offsets = {(r.topic, r.partition): r.offset for r in ledger.offsets}
        self.booked, self.surplus = ledger.booked, ledger.surplus
        self._seen = Seen(consumed_ids)
        self._pending = list(pending)

    def _book(self, group: Group, collapsed: bool) -> None:
        guided = group.query.origin is Origin.GUIDED
        had = self.booked
        self.booked = msgspec.structs.replace(
            had,
            resolved=had.resolved + (not guided),
            collapsed=had.collapsed + (collapsed and not guided),
            guided=had.guided + guided,
            rescued=had.rescued + (guided and not collapsed),
            tokens=had.tokens + group.completion_tokens,
        )

    def _drop_stale(self, version: int) -> None:
        fresh = [p for p in self._pending if distance(p.group, version) <= self.rule.max_staleness]
        stale = len(self._pending) - len(fresh)
        if stale:
            self.booked = msgspec.structs.replace(self.booked, stale=self.booked.stale + stale)
            self._pending = fresh

    def _places(self) -> list[int]:
        """Indices into pending of those with a place in the next batch."""
        chosen: list[int] = []
        guided_left = self.rule.guided_places
        for i, pending in enumerate(self._pending):
            if len(chosen) == self.rule.batch_groups:
                break
            if pending.group.query.origin is Origin.GUIDED:
                if guided_left == 0:
                    continue
                guided_left -= 1
            chosen.append(i)
        return chosen

    def _bound_guided(self) -> None:
        """Let the oldest guided group go when more wait than could ever be trained in time."""
        guided = [i for i, p in enumerate(self._pending) if p.group.query.origin is Origin.GUIDED]
        if len(guided) > self.rule.guided_backlog:
            del self._pending[guided[0]]
            self.surplus += 1
