import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.packing.microbatch import MicroBatch, Multiples, collate, positions
from trainer.packing.rows import Row

ROWS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=9)
MULTIPLES = st.builds(Multiples, sequence=st.sampled_from([1, 4, 8]), batch=st.sampled_from([1, 8, 16]))


def a_row(number: int, prompt: int, completion: int) -> Row:
    ids = np.arange(prompt + completion) + 100 * number
    return Row(
        prompt_ids=ids[:prompt],
        completion_ids=ids[prompt:],
        logprobs=-np.arange(1.0, completion + 1) - number,
        temperature=1.0 + number,
        advantage=float(number),
        weight=1.0 / (number + 1),
        as_sampled=number % 2 == 0,
    )


def learned_from(batch: MicroBatch) -> dict[int, tuple[float, ...]]:
    """What each target comes with."""
    values = (batch.sampler_T, batch.as_sampled_T, batch.advantages_T, batch.weights_T, batch.temperature_T)
    rows = zip(*(batch.chosen(v).tolist() for v in values), strict=True)
    return dict(zip(batch.chosen(batch.targets_T).tolist(), rows, strict=True))


@given(ROWS, MULTIPLES)
def test_every_completion_token_is_predicted_once_from_the_token_before(
    lengths: list[tuple[int, int]], multiples: Multiples
) -> None:
    rows = [a_row(i, *length) for i, length in enumerate(lengths)]
    batch = collate(rows, multiples)
    assert (batch.chosen(batch.targets_T) == batch.chosen(batch.tokens_T) + 1).all()
    assert learned_from(batch) == {
        int(token): (logprob, row.as_sampled, row.advantage, float(np.float32(row.weight)), row.temperature)
        for row in rows
        for token, logprob in zip(row.completion_ids, row.logprobs, strict=True)
    }


@given(ROWS, MULTIPLES)
def test_lengths_are_the_multiples_wanted_and_cover_every_position(
    lengths: list[tuple[int, int]], multiples: Multiples
) -> None:
    batch = collate([a_row(i, *length) for i, length in enumerate(lengths)], multiples)
    assert sum(batch.lengths) == len(batch.tokens_T) > 0
    assert len(batch.tokens_T) % multiples.batch == 0
    assert all(length % multiples.sequence == 0 for length in batch.lengths)
    assert batch.positions_T.tolist() == [place for length in batch.lengths for place in range(length)]


@pytest.mark.parametrize("ranks", [2, 4])
@given(lengths=ROWS)
def test_ranks_that_share_sequences_have_every_token_once(ranks: int, lengths: list[tuple[int, int]]) -> None:
    multiples = Multiples(sequence=2 * ranks, batch=2 * ranks)
    whole = collate([a_row(i, *length) for i, length in enumerate(lengths)], multiples)
    parts = [whole.part(rank, ranks) for rank in range(ranks)]
    assert {len(part.tokens_T) for part in parts} == {len(whole.tokens_T) // ranks}
    assert {part.lengths for part in parts} == {whole.lengths}
    found: dict[int, tuple[float, ...]] = {}
    for part in parts:
        assert not found.keys() & learned_from(part).keys()
        found |= learned_from(part)
    assert found == learned_from(whole)


def test_a_rank_has_a_piece_from_the_front_and_its_mirror_from_the_back() -> None:
    assert torch.cat(positions((8, 4), 0, 2)).tolist() == [0, 1, 6, 7, 8, 11]
    assert torch.cat(positions((8, 4), 1, 2)).tolist() == [2, 3, 4, 5, 9, 10]


def test_of_no_rows_there_is_something_to_compute_and_nothing_to_learn() -> None:
    batch = collate([], Multiples())
    assert (batch.lengths, learned_from(batch)) == ((1,), {})
