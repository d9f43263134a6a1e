"""Against references in float64, written from the papers and not from the code."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer import grpo

LOGPROB = st.floats(-8, -0.01)
TOKENS = st.lists(st.tuples(LOGPROB, LOGPROB, LOGPROB, st.floats(-3, 3)), max_size=12)
"""Log-probabilities of the policy, the old policy and the sampler, and the advantage."""


def columns(tokens: list[tuple[float, ...]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    table = torch.tensor(tokens, dtype=torch.float64).reshape(-1, 4)
    new, old, sampler, advantage = table.unbind(1)
    return new.clone().requires_grad_(), old, sampler, advantage


def gradient(loss: Tensor, of: Tensor) -> list[float]:
    (found,) = torch.autograd.grad(loss.sum(), of)
    return found.tolist()


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@given(TOKENS)
def test_the_clipped_loss_and_its_gradient_are_those_of_the_formula(tokens: list) -> None:
    new, old, _, advantage = columns(tokens)
    got = grpo.clipped_loss(new, old, advantage, clip_low=0.2, clip_high=0.28)
    slopes = gradient(got.loss_N, new)
    for i, (x, y, _, a) in enumerate(tokens):
        ratio = math.exp(x - y)
        inside = min(max(ratio, 0.8), 1.28)
        in_force = inside * a < ratio * a
        assert got.loss_N[i].item() == near(-min(ratio * a, inside * a))
        assert got.clipped_N[i].item() == in_force
        assert slopes[i] == near(0.0 if in_force else -ratio * a)


@given(TOKENS)
def test_the_truncated_loss_is_a_weighted_policy_gradient(tokens: list) -> None:
    new, _, sampler, advantage = columns(tokens)
    got = grpo.truncated_loss(new, sampler, advantage, cap=2.0)
    slopes = gradient(got.loss_N, new)
    for i, (x, _, z, a) in enumerate(tokens):
        weight = min(math.exp(x - z), 2.0)
        assert got.loss_N[i].item() == near(-weight * a)
        assert slopes[i] == near(-weight * a)
        assert got.clipped_N[i].item() == (math.exp(x - z) > 2.0)


@given(TOKENS)
def test_the_corrected_loss_weighs_the_clipped_one_by_the_samplers_distance_from_the_old_policy(
    tokens: list,
) -> None:
    new, old, sampler, advantage = columns(tokens)
    clipped = grpo.clipped_loss(new, old, advantage, clip_low=0.2, clip_high=0.28)
    got = grpo.corrected_loss(clipped, old, sampler, cap=2.0)
    slopes = gradient(got.loss_N, new)
    for i, (x, y, z, a) in enumerate(tokens):
        ratio, weight = math.exp(x - y), min(math.exp(y - z), 2.0)
        inside = min(max(ratio, 0.8), 1.28)
        in_force = inside * a < ratio * a
        assert got.loss_N[i].item() == near(-weight * min(ratio * a, inside * a))
        assert slopes[i] == near(0.0 if in_force else -weight * ratio * a)
        assert got.ratio_N[i].item() == near(ratio)
        assert got.clipped_N[i].item() == (in_force or math.exp(y - z) > 2.0)


def test_a_ratio_outside_the_clip_stops_pulling_only_in_its_own_direction() -> None:
    old = torch.zeros(4, dtype=torch.float64)
    new = torch.log(torch.tensor([1.3, 1.3, 0.7, 0.7], dtype=torch.float64))
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    clipped = grpo.clipped_loss(new, old, advantage, clip_low=0.2, clip_high=0.28).clipped_N
    assert clipped.tolist() == [True, False, False, True]


@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_log_probs_far_apart_give_finite_losses_in_single_precision(far: float) -> None:
    new, other = torch.tensor([min(far, 0.0)]), torch.tensor([min(-far, 0.0)])
    clipped = grpo.clipped_loss(new, other, torch.ones(1), clip_low=0.2, clip_high=0.28)
    for got in (
        clipped,
        grpo.truncated_loss(new, other, torch.ones(1), cap=2.0),
        grpo.corrected_loss(clipped, other, new, cap=2.0),
    ):
        assert got.loss_N.isfinite().all()
        assert got.ratio_N.isfinite().all()
