from hypothesis import given
from hypothesis import strategies as st

from trainer.packing.balance import packs

LENGTHS = st.lists(st.integers(1, 50), max_size=40)


@given(LENGTHS, st.integers(1, 120), st.integers(1, 5))
def test_every_row_is_in_one_pack_and_every_rank_has_as_many_packs(
    lengths: list[int], most: int, ranks: int
) -> None:
    shares = packs(lengths, most, ranks)
    assert len(shares) == ranks
    assert len({len(share) for share in shares}) == 1
    assert shares[0], "a rank without rows takes part all the same"
    assert sorted(row for share in shares for pack in share for row in pack) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 120), st.integers(1, 5))
def test_a_pack_keeps_to_its_limit_unless_one_row_exceeds_it(
    lengths: list[int], most: int, ranks: int
) -> None:
    for share in packs(lengths, most, ranks):
        for pack in share:
            assert sum(lengths[row] for row in pack) <= most or len(pack) == 1


@given(LENGTHS, st.integers(50, 200), st.integers(1, 4))
def test_packs_differ_by_no_more_than_the_longest_row(lengths: list[int], most: int, ranks: int) -> None:
    loads = [sum(lengths[row] for row in pack) for share in packs(lengths, most, ranks) for pack in share]
    assert max(loads) - min(loads) <= max(lengths, default=0)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(50, 200))
def test_few_packs_are_made(lengths: list[int], most: int) -> None:
    (share,) = packs(lengths, most, 1)
    assert len(share) <= 2 * sum(lengths) / most + 1


def test_rows_that_fit_together_are_one_pack_the_longest_first() -> None:
    assert packs([3, 9, 5], 17, 1) == [[[1, 2, 0]]]


def test_ranks_share_the_tokens_evenly() -> None:
    shares = packs([8, 8, 4, 4, 4, 4], 16, 2)
    assert [sum([8, 8, 4, 4, 4, 4][row] for pack in share for row in pack) for share in shares] == [16, 16]
