"""Against a reference in float64, written from the paper and not from the code."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainer import grpo

REWARDS = st.lists(st.sampled_from([0.0, 0.25, 1.0, -1.0, 3.5]), min_size=1, max_size=8)


def advantages(rewards: list[float], scorable: list[bool], *, scale_by_std: bool = True) -> NDArray:
    return grpo.group_advantages(
        torch.tensor([rewards], dtype=torch.float64), torch.tensor([scorable]), scale_by_std=scale_by_std
    )[0].numpy()


def reference(rewards: list[float], scorable: list[bool], *, scale_by_std: bool) -> NDArray:
    out = np.zeros(len(rewards))
    known = [r for r, s in zip(rewards, scorable, strict=True) if s]
    if len(known) < 2 or min(known) == max(known):
        return out
    mean = math.fsum(known) / len(known)
    std = math.sqrt(math.fsum((r - mean) ** 2 for r in known) / (len(known) - 1))
    for i, (r, s) in enumerate(zip(rewards, scorable, strict=True)):
        if s:
            out[i] = (r - mean) / (std + 1e-6) if scale_by_std else r - mean
    return out


@given(REWARDS, st.data(), st.booleans())
def test_advantages_are_those_of_the_formula(rewards: list, data: st.DataObject, scale: bool) -> None:
    scorable = data.draw(st.lists(st.booleans(), min_size=len(rewards), max_size=len(rewards)))
    got = advantages(rewards, scorable, scale_by_std=scale)
    np.testing.assert_allclose(got, reference(rewards, scorable, scale_by_std=scale), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("rewards", "scorable"),
    [
        ([0.1, 0.1, 0.1], [True] * 3),
        ([1.0, 0.0], [True, False]),
        ([1.0, 0.0], [False, False]),
        ([1.0], [True]),
    ],
    ids=["no variance", "one scorable row", "none scorable", "a single row"],
)
def test_a_group_that_compares_nothing_has_no_advantage(rewards: list[float], scorable: list[bool]) -> None:
    assert advantages(rewards, scorable).tolist() == [0.0] * len(rewards)


def test_an_unscorable_row_shifts_nobody_elses_advantage() -> None:
    with_it = advantages([1.0, 0.0, 7.0, 0.0], [True, True, False, True])
    without = advantages([1.0, 0.0, 0.0], [True] * 3)
    assert with_it[[0, 1, 3]].tolist() == without.tolist()
    assert with_it[2] == 0.0
