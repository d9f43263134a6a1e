"""Every formula against a reference in float64 numpy, written from the papers and not from the code."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainer import grpo
from trainer.config import Normalization

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


TOKENS = st.lists(
    st.tuples(st.floats(-8, -0.01), st.floats(-8, -0.01), st.floats(-3, 3)), min_size=0, max_size=12
)


def columns(tokens: list[tuple[float, float, float]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    table = torch.tensor(tokens, dtype=torch.float64).reshape(-1, 3)
    return table[:, 0].clone().requires_grad_(), table[:, 1], table[:, 2]


@given(TOKENS)
def test_the_clipped_loss_and_its_gradient_are_those_of_the_formula(tokens: list) -> None:
    logprobs, sampler, advantage = columns(tokens)
    got = grpo.clipped_loss(logprobs, sampler, advantage, clip_low=0.2, clip_high=0.28)
    got.loss_N.sum().backward()
    assert logprobs.grad is not None
    for i, (new, old, a) in enumerate(tokens):
        ratio = math.exp(new - old)
        inside = min(max(ratio, 0.8), 1.28)
        assert got.loss_N[i].item() == pytest.approx(-min(ratio * a, inside * a), rel=1e-9, abs=1e-12)
        in_force = inside * a < ratio * a
        assert got.clipped_N[i].item() == in_force
        assert logprobs.grad[i].item() == pytest.approx(0.0 if in_force else -ratio * a, rel=1e-9, abs=1e-12)


@given(TOKENS)
def test_the_truncated_loss_is_a_weighted_policy_gradient(tokens: list) -> None:
    logprobs, sampler, advantage = columns(tokens)
    got = grpo.truncated_loss(logprobs, sampler, advantage, cap=2.0)
    got.loss_N.sum().backward()
    assert logprobs.grad is not None
    for i, (new, old, a) in enumerate(tokens):
        weight = min(math.exp(new - old), 2.0)
        assert logprobs.grad[i].item() == pytest.approx(-weight * a, rel=1e-9, abs=1e-12)


def test_a_ratio_outside_the_clip_stops_pulling_only_in_its_own_direction() -> None:
    sampler = torch.zeros(4, dtype=torch.float64)
    logprobs = torch.log(torch.tensor([1.3, 1.3, 0.7, 0.7], dtype=torch.float64))
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    clipped = grpo.clipped_loss(logprobs, sampler, advantage, clip_low=0.2, clip_high=0.28).clipped_N
    assert clipped.tolist() == [True, False, False, True]
