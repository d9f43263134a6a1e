"""Consumer groups under a clock of the test's own: whatever happens, one owner a partition."""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentor_stream.broker.base import EARLIEST, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import catalog, membership
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.membership import Membership, Standing
from mentor_stream.broker.sqlite.schema import open_file

LEASE = 5.0
PARTITIONS = 4


NOTHING = Standing({}, {}, 0.0)


@dataclass
class Group:
    """Members a, b, c of one group in a file, and the time."""

    connection: sqlite3.Connection
    now: float = 1_000.0
    standings: dict[str, Standing] = field(default_factory=dict)

    def member(self, name: str) -> Membership:
        return Membership("group", name, [1], LEASE)

    def renew(self, name: str, ahead: int = 0) -> Standing:
        """Renew, committing `ahead` more messages of each claim that the member believes to hold."""
        before = self.standings.get(name, NOTHING).claims
        commits = {claim: max(0, offset) + ahead for claim, offset in before.items()} if ahead else {}
        self.standings[name] = self.member(name).renew(self.connection, commits)
        return self.standings[name]

    def leave(self, name: str) -> None:
        self.member(name).leave(self.connection, {})
        self.standings.pop(name, None)

    def owned(self, name: str) -> set[int]:
        """What the member may hand messages out of, as far as it knows."""
        standing = self.standings.get(name, NOTHING)
        return {claim.partition for claim in standing.claims} if self.now < standing.expires else set()

    def lag(self) -> int:
        return membership.lag(self.connection, "group", list(range(1, PARTITIONS + 1)))


def open_group(path: Path) -> Group:
    """A group that nobody has joined yet, on a topic with 100 messages in each partition."""
    connection = open_file(Location(path / "stream.db"), durable=False)
    connection.execute("PRAGMA synchronous = off")
    catalog.create(connection, [TopicSpec("topic", PARTITIONS)])
    connection.execute("UPDATE partitions SET next = 100")
    return Group(connection)


@pytest.fixture
def group(tmp_path, monkeypatch):
    group = open_group(tmp_path)
    monkeypatch.setattr(membership.time, "monotonic", lambda: group.now)
    yield group
    group.connection.close()


def steps() -> st.SearchStrategy[list[tuple[str, str, float]]]:
    names = st.sampled_from("abc")
    return st.lists(
        st.one_of(
            st.tuples(st.just("renew"), names, st.integers(0, 3)),
            st.tuples(st.just("leave"), names, st.just(0)),
            st.tuples(st.just("wait"), st.just(""), st.sampled_from([0.5, 2.0, 4.9, 5.1, 20.0])),
        ),
        max_size=30,
    )


@given(steps=steps())
@settings(max_examples=40, deadline=None)
def test_no_two_members_ever_hold_a_partition_and_no_commit_goes_back(tmp_path_factory, steps):
    group = open_group(tmp_path_factory.mktemp("group"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership.time, "monotonic", lambda: group.now)
        last = dict.fromkeys(range(1, PARTITIONS + 1), EARLIEST)
        for step, name, amount in steps:
            if step == "wait":
                group.now += amount
            elif step == "leave":
                group.leave(name)
            else:
                group.renew(name, int(amount))
            held = [group.owned(name) for name in "abc"]
            assert sum(map(len, held)) == len(set().union(*held))
            positions = dict(group.connection.execute("SELECT partition, committed FROM assignments"))
            assert all(positions[partition] >= last[partition] for partition in positions)
            last |= positions
    group.connection.close()


def test_one_member_reads_all(group):
    assert {claim.partition for claim in group.renew("a").claims} == {1, 2, 3, 4}


def test_a_partition_changes_hands_when_its_owner_lets_go(group):
    group.renew("a")
    assert group.renew("b").claims == {}
    assert group.member("a").unsettled(group.connection)
    assert not group.member("b").unsettled(group.connection)
    assert len(group.renew("a").claims) == 2
    assert group.member("b").unsettled(group.connection)
    assert len(group.renew("b").claims) == 2
    assert not any(group.member(name).unsettled(group.connection) for name in "ab")


def test_what_was_done_before_letting_go_is_committed_with_it(group):
    group.renew("a")
    group.renew("b")
    group.renew("a", ahead=7)
    assert set(group.renew("b").claims.values()) == {7}
    assert group.lag() == 4 * 100 - 4 * 7


def test_a_dead_member_loses_its_partitions_when_its_lease_has_run_out_and_not_before(group):
    group.renew("a")
    group.now += LEASE - 0.1
    assert group.renew("b").claims == {}
    group.now += 0.2
    assert len(group.renew("b").claims) == 4


def test_one_that_was_taken_for_dead_commits_nothing_and_joins_again(group):
    group.renew("a")
    group.now += LEASE + 1
    group.renew("b")
    back = group.renew("a", ahead=50)
    assert back.claims == {}
    assert group.lag() == 400
    group.renew("b")
    assert len(group.renew("a").claims) == 2


def test_a_claim_that_was_lost_and_regained_is_another_claim(group):
    stale = group.renew("a").claims
    group.now += LEASE + 1
    group.renew("b")
    group.leave("b")
    group.renew("a")
    group.member("a").renew(group.connection, dict.fromkeys(stale, 50))
    assert group.lag() == 400


def test_a_member_of_before_a_restart_of_the_machine_is_dead(group):
    group.renew("a")
    group.now = 3.0
    assert len(group.renew("b").claims) == 4


def test_a_member_that_stalled_alone_goes_on_where_it_was(group):
    before = group.renew("a").claims
    group.now += 100
    assert group.renew("a").claims == before


def grow(group: Group, partitions: int) -> None:
    catalog.alter(group.connection, TopicSpec("topic", partitions))


def test_a_group_that_never_committed_begins_at_the_earliest_message(group):
    assert set(group.renew("a").claims.values()) == {EARLIEST}
    assert group.lag() == 400


def test_partitions_that_are_added_are_shared_out_by_whoever_renews_first(group):
    group.renew("a")
    group.renew("b")
    group.renew("a")
    group.renew("b")
    grow(group, 6)
    assert all(group.member(name).unsettled(group.connection) for name in "ab")
    assert len(group.renew("a").claims) == len(group.renew("b").claims) == 3
    assert not any(group.member(name).unsettled(group.connection) for name in "ab")
    places = {place for name in "ab" for place in group.standings[name].places.values()}
    assert places == {TopicPartition("topic", number) for number in range(6)}


def test_partitions_of_topics_that_a_member_does_not_read_are_none_of_its_business(group):
    group.renew("a")
    catalog.create(group.connection, [TopicSpec("other", 2)])
    assert not group.member("a").unsettled(group.connection)
    assert len(group.renew("a").claims) == PARTITIONS


def test_partitions_that_were_added_while_the_group_was_away_are_taken_in(group):
    group.renew("a")
    group.leave("a")
    grow(group, 5)
    assert len(group.renew("b").claims) == 5


def test_the_lag_of_a_group_ahead_of_its_topic_is_nothing(group):
    group.renew("a")
    group.renew("a", ahead=150)
    assert group.lag() == 0
