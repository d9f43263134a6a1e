from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.broker import Receipt
from schemas import Consumed, Group, Origin
from tests.builders import a_group, a_guided_query, a_query, a_trajectory
from trainer.intake.batches import Arrivals, CutRule, Pending, distance


def plain(number: int, verdicts: str = "WR", version: int = 0) -> Group:
    return a_group(verdicts, query=a_query(position=number), version=version)


def guided(number: int, verdicts: str = "WR", version: int = 0) -> Group:
    return a_group(verdicts, query=a_guided_query(a_query(position=number)), version=version)


def a_rule(
    batch_groups: int, max_staleness: int = 4, max_guided_fraction: float = 1.0, *, keep_silent: bool = False
) -> CutRule:
    return CutRule(batch_groups, max_staleness, max_guided_fraction, keep_silent)


class Feed:
    """Arrivals fed one after the other, each cut at once, as the loop does."""

    def __init__(self, rule: CutRule) -> None:
        self.arrivals = Arrivals(rule)
        self.batches: list[list[Group]] = []
        self.offset = 0

    def give(self, group: Group, *, collapsed: bool = False, usable: bool = True) -> bool:
        place = Receipt("t.collapsed" if collapsed else "t.groups", 0, self.offset)
        self.offset += 1
        new = self.arrivals.arrive(group, place, collapsed=collapsed, usable=usable)
        if batch := self.arrivals.cut(len(self.batches)):
            self.batches.append(batch)
        return new

    @property
    def consumed(self) -> Consumed:
        return self.arrivals.consumed(len(self.batches))


def ids(batch: list[Group]) -> list[str]:
    return [group.group_id for group in batch]


def test_a_batch_is_the_first_groups_that_arrived() -> None:
    feed = Feed(a_rule(batch_groups=2))
    groups = [plain(i) for i in range(5)]
    for group in groups:
        feed.give(group)
    assert feed.batches == [groups[:2], groups[2:4]]
    assert feed.arrivals.waiting == 1


def test_a_guided_query_published_twice_is_trained_once() -> None:
    feed = Feed(a_rule(batch_groups=1))
    assert feed.give(guided(1))
    assert not feed.give(guided(1))
    assert len(feed.batches) == 1
    assert feed.consumed.guided == 1


def test_a_stale_group_is_dropped_and_counted_when_the_batch_is_cut() -> None:
    feed = Feed(a_rule(batch_groups=1, max_staleness=1))
    feed.give(plain(0))
    feed.give(plain(1))
    feed.give(plain(2, version=0))
    assert [ids(b) for b in feed.batches] == [ids([plain(0)]), ids([plain(1)])]
    assert feed.consumed.stale == 1
    assert feed.consumed.accepted == 2


def test_one_old_token_makes_its_group_stale() -> None:
    fresh, old = plain(0, "W", version=5), plain(0, "R", version=1)
    mixed = msgspec.structs.replace(fresh, trajectories=fresh.trajectories + old.trajectories)
    arrivals = Arrivals(a_rule(batch_groups=1, max_staleness=3))
    arrivals.arrive(mixed, Receipt("t", 0, 0), collapsed=False)
    assert arrivals.cut(5) is None
    assert arrivals.booked.stale == 1


def test_a_group_of_a_future_that_a_fall_back_took_is_as_far_as_one_of_the_past() -> None:
    """Resumed at version 5; a rollout worker still sampled with 7 and 8 of before."""
    arrivals = Arrivals(a_rule(batch_groups=2, max_staleness=2))
    for number, version in enumerate([8, 7]):
        arrivals.arrive(plain(number, version=version), Receipt("t", 0, number), collapsed=False)
    assert arrivals.cut(5) is None
    assert (arrivals.booked.stale, arrivals.placed) == (1, 1)


@given(st.lists(st.integers(0, 9), max_size=3), st.integers(0, 9))
def test_the_distance_of_a_group_is_that_of_its_furthest_token(versions: list[int], now: int) -> None:
    rows = tuple(a_trajectory("W", version=version) for version in versions)
    group = msgspec.structs.replace(plain(0), trajectories=(*rows, a_trajectory("R", completion=())))
    assert distance(group, now) == max((abs(now - version) for version in versions), default=0)


def test_guided_groups_keep_to_their_share() -> None:
    feed = Feed(a_rule(batch_groups=4, max_guided_fraction=0.5))
    for i in range(4):
        feed.give(guided(i))
    assert not feed.batches
    for i in range(4):
        feed.give(plain(10 + i))
    kinds = [[g.query.origin for g in batch] for batch in feed.batches]
    assert kinds == [[Origin.GUIDED] * 2 + [Origin.PLAIN] * 2] * 2


def test_guided_groups_beyond_their_share_hold_no_place_and_are_bounded() -> None:
    rule = a_rule(batch_groups=4, max_staleness=1, max_guided_fraction=0.5)
    feed = Feed(rule)
    for i in range(20):
        feed.give(guided(i))
    assert feed.arrivals.waiting == rule.guided_backlog == 4
    assert feed.arrivals.surplus == 16
    assert feed.consumed.accepted == 2


def test_a_group_without_signal_makes_room_for_another() -> None:
    feed = Feed(a_rule(batch_groups=1))
    feed.give(plain(0, "RR"))
    feed.give(plain(1, "WW"), collapsed=True)
    assert not feed.batches
    consumed = feed.consumed
    assert (consumed.resolved, consumed.collapsed, consumed.accepted) == (2, 1, 0)


def test_a_silent_group_takes_a_place_under_plain_grpo() -> None:
    feed = Feed(a_rule(batch_groups=2, keep_silent=True))
    feed.give(plain(0, "RR"))
    feed.give(plain(1, "WW"), collapsed=True)
    assert len(feed.batches) == 1


def test_what_was_not_judged_is_resolved_but_never_trained() -> None:
    feed = Feed(a_rule(batch_groups=1, keep_silent=True))
    for i, verdicts in enumerate(["UU", "AA", "RU", "AW"]):
        feed.give(plain(i, verdicts))
    feed.give(plain(9, "RW"), usable=False)
    assert not feed.batches
    assert feed.consumed.resolved == 5


def test_counters_tell_plain_from_guided() -> None:
    feed = Feed(a_rule(batch_groups=8))
    feed.give(plain(0))
    feed.give(plain(1, "WW"), collapsed=True)
    feed.give(guided(1))
    feed.give(guided(2, "WW"), collapsed=True)
    consumed = feed.consumed
    assert (consumed.resolved, consumed.collapsed) == (2, 1)
    assert (consumed.guided, consumed.rescued) == (2, 1)
    assert consumed.tokens == 4 * 2 * 3


def test_a_restored_state_goes_on_as_if_never_stopped() -> None:
    rule = a_rule(batch_groups=3, max_guided_fraction=0.34)
    arrivals = Arrivals(rule)
    first = [guided(0), guided(1), plain(2), plain(3), plain(4)]
    for i, group in enumerate(first):
        arrivals.arrive(group, Receipt("t", i % 2, i), collapsed=False)
    arrivals.cut(0)

    ledger = msgspec.json.decode(msgspec.json.encode(arrivals.ledger()), type=type(arrivals.ledger()))
    waiting = [Pending(first[place.offset], place) for place in ledger.pending]
    restored = Arrivals(rule)
    restored.restore(ledger, arrivals.consumed_ids(), waiting)

    assert restored.consumed(1) == arrivals.consumed(1)
    assert restored.ledger() == ledger
    for state in (arrivals, restored):
        assert not state.arrive(plain(2), Receipt("t", 0, 50), collapsed=False)
        state.arrive(plain(5), Receipt("t", 0, 51), collapsed=False)
    batch, again = arrivals.cut(1), restored.cut(1)
    assert batch
    assert again
    assert ids(batch) == ids(again)


ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.booleans(),
        st.sampled_from(["WR", "RR", "WW", "UR", "AA", "WRU"]),
        st.integers(0, 5),
    ),
    max_size=60,
)
RULES = st.builds(
    CutRule,
    batch_groups=st.integers(1, 4),
    max_staleness=st.integers(0, 3),
    max_guided_fraction=st.floats(0, 1),
    keep_silent=st.booleans(),
)


def a_course(rule: CutRule, arrivals: list[tuple[int, bool, str, int]]) -> Feed:
    feed = Feed(rule)
    for number, is_guided, verdicts, version in arrivals:
        make = guided if is_guided else plain
        # No sampler is ahead of the trainer.
        group = make(number, verdicts, version=min(version, len(feed.batches)))
        feed.give(group, collapsed=set(verdicts) == {"W"})
    return feed


@given(RULES, ARRIVALS)
def test_every_group_is_trained_at_most_once(rule: CutRule, arrivals: list) -> None:
    feed = a_course(rule, arrivals)
    counts = Counter(i for batch in feed.batches for i in ids(batch))
    assert all(count == 1 for count in counts.values())


@given(RULES, ARRIVALS)
def test_no_batch_is_stale_too_guided_or_of_another_size(rule: CutRule, arrivals: list) -> None:
    for version, batch in enumerate(a_course(rule, arrivals).batches):
        assert len(batch) == rule.batch_groups
        assert min(g.oldest_version for g in batch) >= version - rule.max_staleness
        guided = sum(g.query.origin is Origin.GUIDED for g in batch)
        assert guided <= rule.max_guided_fraction * len(batch) + 1e-9  # a share is no binary fraction


@given(RULES, ARRIVALS)
def test_what_waits_is_bounded_and_the_counters_add_up(rule: CutRule, arrivals: list) -> None:
    feed = a_course(rule, arrivals)
    consumed = feed.consumed
    assert feed.arrivals.waiting <= rule.guided_backlog + rule.batch_groups
    assert rule.batch_groups * len(feed.batches) <= consumed.accepted
    assert consumed.accepted < rule.batch_groups * (len(feed.batches) + 1)
    assert consumed.resolved + consumed.guided == len({(n, g) for n, g, _, _ in arrivals})


@given(RULES, ARRIVALS, st.data())
def test_a_stop_anywhere_changes_no_batch(rule: CutRule, arrivals: list, data: st.DataObject) -> None:
    whole = a_course(rule, arrivals)
    stop = data.draw(st.integers(0, len(arrivals)))
    feed = Feed(rule)
    stream: dict[Receipt, Group] = {}
    for i, (number, is_guided, verdicts, version) in enumerate(arrivals):
        if i == stop:
            before = feed.arrivals
            ledger = before.ledger()
            feed.arrivals = Arrivals(rule)
            waiting = [Pending(stream[place], place) for place in ledger.pending]
            feed.arrivals.restore(ledger, before.consumed_ids(), waiting)
        make = guided if is_guided else plain
        group = make(number, verdicts, version=min(version, len(feed.batches)))
        collapsed = set(verdicts) == {"W"}
        stream[Receipt("t.collapsed" if collapsed else "t.groups", 0, feed.offset)] = group
        feed.give(group, collapsed=collapsed)
    assert [ids(b) for b in feed.batches] == [ids(b) for b in whole.batches]
    assert feed.consumed == whole.consumed
