"""Batches that are made ready ahead of training are those that training as it goes would have cut."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from mentor_stream.broker import Message
from mentor_stream.config import Config, RunConfig, parse_section
from mentor_stream.stream import Delivery
from schemas import Group
from tests.builders import a_group, a_guided_query, a_query
from trainer.config import TrainerConfig
from trainer.intake.places import place_of
from trainer.intake.preparation import Batch, Preparation

BATCH = 2


def a_sampled(number: int, verdicts: str = "WR", *, guided: bool = False, version: int = 0) -> Group:
    query = a_query(position=number)
    return a_group(verdicts, query=a_guided_query(query) if guided else query, version=version)


def delivery(offset: int, group: Group) -> Delivery[Group]:
    topic = "t.collapsed" if all(t.reward == 0.0 for t in group.trajectories) else "t.groups"
    message = Message(topic, 0, offset, b"", str(offset).encode(), 0.0)
    return Delivery(group, message, lambda _: None)


ARRIVALS = st.lists(
    st.builds(
        lambda number, verdicts, guided, version: a_sampled(number, verdicts, guided=guided, version=version),
        st.integers(0, 12),
        st.sampled_from(["WR", "RR", "UU", "WW"]),
        st.booleans(),
        st.integers(0, 6),
    ),
    max_size=30,
).map(lambda groups: [delivery(offset, group) for offset, group in enumerate(groups)])


def a_preparation(**settings: object) -> Preparation:
    where = {"name": "t", "directory": ".", "broker": "-", "policy": "."}
    rule = {"batch_groups": BATCH, "max_staleness": 2, **settings}
    given = {"run": where | rule, "trainer": {"max_guided_fraction": 0.5}}
    kinds = (RunConfig, TrainerConfig)
    sections = {kind.table: parse_section(kind, given[kind.table], kind.table) for kind in kinds}
    return Preparation(Config(Path(), sections), vocabulary=64, positions=128)


def fed(preparation: Preparation, arrivals: Iterable[Delivery[Group]]) -> list[Batch]:
    """All batches that these arrivals make."""
    found: list[Batch] = []
    for each in arrivals:
        usable = preparation.problem(each.record) is None
        collapsed = each.message.topic == "t.collapsed"
        if batch := preparation.arrive(each, collapsed=collapsed, usable=usable):
            found.append(batch)
    return found


@given(ARRIVALS)
def test_whoever_goes_on_from_any_batch_gets_those_that_came_after_it(
    arrivals: list[Delivery[Group]],
) -> None:
    """G3: what a checkpoint keeps is how things stood at the cut, however far ahead the reading was."""
    whole = fed(a_preparation(), arrivals)
    at = {place_of(each.message): each for each in arrivals}
    for number, batch in enumerate(whole, start=1):
        kept = batch.bookmark
        resumed = a_preparation()
        resumed.resume(number, kept, [at[place] for place in kept.ledger.pending])
        assert resumed.bookmark == kept
        assert resumed.standing._replace(read=batch.standing.read) == batch.standing
        read_to = {(topic, partition): offset for topic, partition, offset in kept.ledger.offsets}
        left = [e for e in arrivals if e.message.offset >= read_to.get(tuple(e.message.place), 0)]
        again = fed(resumed, left)
        assert [b.groups for b in again] == [b.groups for b in whole[number:]]
        assert [b.ages for b in again] == [b.ages for b in whole[number:]]
        assert [b.bookmark for b in again] == [b.bookmark for b in whole[number:]]


@given(ARRIVALS)
def test_no_batch_holds_a_policy_further_away_than_allowed_from_the_version_it_is_trained_at(
    arrivals: list[Delivery[Group]],
) -> None:
    """G5, for versions of the future as for those of the past."""
    for trained_at, batch in enumerate(fed(a_preparation(), arrivals)):
        assert batch.standing.version == trained_at + 1
        versions = [run.policy_version for g in batch.groups for t in g.trajectories for run in t.policy]
        assert all(abs(version - trained_at) <= 2 for version in versions)
        assert max(batch.ages) <= 2


def test_a_batch_tells_what_arrived_since_the_one_before() -> None:
    arrivals = [delivery(n, a_sampled(n, v)) for n, v in enumerate(["WR", "WW", "WR", "WR", "WR"])]
    first, second = fed(a_preparation(), arrivals)
    assert [(b.tally.plain, b.tally.collapsed) for b in (first, second)] == [(3, 1), (2, 0)]
    assert (first.standing.read, first.standing.consumed.resolved, first.standing.waiting) == (3, 3, 0)


def test_a_batch_is_packed_for_every_data_parallel_rank() -> None:
    preparation = a_preparation()
    arrivals = [delivery(n, a_sampled(n)) for n in range(BATCH)]
    [batch] = fed(preparation, arrivals)
    assert not batch.shares
    [share] = preparation.packed(batch).shares
    assert sum(len(pack) for part in share.parts for pack in part.packs) == 2 * BATCH


@pytest.mark.parametrize(
    ("limit", "read"), [({"max_versions": 2}, 4), ({"max_tokens": 18}, 3), ({"max_tokens": 1}, 1), ({}, 6)]
)
def test_it_is_over_with_the_batches_or_the_tokens_of_the_run(limit: dict[str, int], read: int) -> None:
    preparation = a_preparation(**limit)
    arrivals = (delivery(n, a_sampled(n)) for n in range(6))
    while not preparation.is_over and (following := next(arrivals, None)):
        fed(preparation, [following])
    assert preparation.standing.read == read


def test_a_group_of_another_vocabulary_is_a_problem_and_holds_no_place() -> None:
    group = a_group("WR")
    alien = msgspec.structs.replace(group.trajectories[0], prompt_ids=schemas.ids([10_000]), reward=1.0)
    bad = msgspec.structs.replace(group, trajectories=(alien, *group.trajectories))
    preparation = a_preparation()
    assert "outside the vocabulary" in str(preparation.problem(bad))
    fed(preparation, [delivery(0, bad)])
    assert (preparation.standing.consumed.resolved, preparation.standing.waiting) == (1, 0)
