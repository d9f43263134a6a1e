import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.packing import micro_batches, nothing
from trainer.rows import Row

ROWS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=20)


def a_row(number: int, prompt: int, completion: int) -> Row:
    ids = np.arange(prompt + completion) + 100 * number
    return Row(
        prompt_ids=ids[:prompt],
        completion_ids=ids[prompt:],
        logprobs=-np.arange(1.0, completion + 1) - number,
        temperature=1.0 + number,
        advantage=float(number),
        weight=1.0 / (number + 1),
    )


@given(ROWS, st.integers(1, 60))
def test_every_completion_token_is_predicted_once_from_the_token_before(lengths: list, limit: int) -> None:
    rows = [a_row(i, *length) for i, length in enumerate(lengths)]
    seen = {}
    for batch in micro_batches(rows, limit):
        inputs, targets = batch.tokens_BT[batch.completion_BT], batch.targets_BT[batch.completion_BT]
        assert (targets == inputs + 1).all()
        values = zip(batch.sampler_N, batch.advantages_N, batch.weights_N, batch.temperature_N, strict=True)
        seen |= dict(zip(targets.tolist(), [tuple(map(float, v)) for v in values], strict=True))
    expected = {
        int(token): (logprob, row.advantage, float(np.float32(row.weight)), row.temperature)
        for row in rows
        for token, logprob in zip(row.completion_ids, row.logprobs, strict=True)
    }
    assert seen == expected


@given(ROWS, st.integers(1, 60))
def test_a_micro_batch_keeps_to_its_limit_unless_one_row_exceeds_it(lengths: list, limit: int) -> None:
    for batch in micro_batches([a_row(i, *length) for i, length in enumerate(lengths)], limit):
        assert batch.tokens_BT.numel() <= limit or len(batch.tokens_BT) == 1


def test_a_rank_without_rows_computes_on_a_sequence_and_learns_nothing() -> None:
    batch = nothing(a_row(1, prompt=3, completion=2))
    assert batch.tokens_BT.shape == batch.completion_BT.shape == (1, 4)
    assert not batch.completion_BT.any()
    assert [len(x) for x in (batch.sampler_N, batch.temperature_N, batch.advantages_N, batch.weights_N)] == [
        0
    ] * 4
