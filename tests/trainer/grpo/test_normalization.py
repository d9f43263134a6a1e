"""Against a reference in float64, written from the papers and not from the code."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer import grpo
from trainer.config import Normalization

LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(LENGTHS, st.sampled_from(["token", "sequence", "constant"]))
def test_weights_are_those_of_the_normalization(lengths: list[int], kind: Normalization) -> None:
    got = grpo.row_weights(torch.tensor(lengths), kind, constant_length=10).tolist()
    total = sum(lengths)
    for length, weight in zip(lengths, got, strict=True):
        expected = {
            "token": 1 / max(total, 1),
            "sequence": 1 / (len(lengths) * max(length, 1)),
            "constant": 1 / (len(lengths) * 10),
        }[kind]
        assert weight == pytest.approx(expected if length else 0.0, rel=1e-12)


def test_a_batch_of_empty_completions_weighs_nothing() -> None:
    assert grpo.row_weights(torch.tensor([0, 0]), "token", constant_length=None).tolist() == [0.0, 0.0]
