from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.config import parse_section
from schemas import Group
from tests.builders import a_group, a_query
from trainer.config import TrainerConfig
from trainer.packing.rows import Row, rows_of
from trainer.packing.shares import parted, shares

RANKS = 3
GROUPS = st.lists(st.text("WRU", min_size=1, max_size=5), max_size=8).map(
    lambda verdicts: [a_group(v, query=a_query(position=i)) for i, v in enumerate(verdicts)]
)


def settings(**given: object) -> TrainerConfig:
    return parse_section(TrainerConfig, {"data_parallel": RANKS, **given}, "trainer")


def alike(row: Row) -> tuple[float, float, tuple[int, ...]]:
    return row.advantage, row.weight, tuple(row.completion_ids.tolist())


@given(GROUPS, st.integers(1, 4), st.integers(1, 40))
def test_every_row_is_in_the_share_of_one_rank_in_the_step_of_its_minibatch(
    groups: list[Group], minibatches: int, most: int
) -> None:
    config = settings(minibatches=minibatches, max_tokens_per_microbatch=most)
    wanted = [rows_of(part, config).learned for part in parted(groups, minibatches)]
    wanted = [rows for rows in wanted if rows]
    dealt = shares(groups, config)
    assert len(dealt) == RANKS
    for number, rows in enumerate(wanted):
        parts = [share.parts[number] for share in dealt]
        found = [row for part in parts for pack in part.packs for row in pack]
        assert Counter(map(alike, found)) == Counter(map(alike, rows))
        assert {part.filled for part in parts} == {sum(row.tokens for row in rows)}
        assert len({len(part.packs) for part in parts}) == 1, "they wait for each other in each micro-batch"
    assert {len(share.parts) for share in dealt} == {len(wanted)}


def test_what_was_too_long_is_counted_once_over_all_minibatches() -> None:
    groups = [a_group("WR", query=a_query(position=number)) for number in range(4)]
    for share in shares(groups, settings(long_rows="drop", max_tokens_per_microbatch=2, minibatches=2)):
        assert (share.parts, share.dropped, share.truncated) == ([], 8, 0)
    for share in shares(groups, settings(long_rows="truncate", max_tokens_per_microbatch=4, minibatches=2)):
        assert (len(share.parts), share.dropped, share.truncated) == (2, 0, 8)


@pytest.mark.parametrize(("groups", "count"), [(7, 3), (2, 5), (6, 1), (6, 6)])
def test_minibatches_have_every_group_once_and_are_alike(groups: int, count: int) -> None:
    parts = parted([object()] * groups, count)  # pyright: ignore[reportArgumentType]
    assert len(parts) == count
    assert sum(len(part) for part in parts) == groups
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
