import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer import grpo
from trainer.config import KLEstimator

LOGPROB = st.floats(-8, -0.01)
ESTIMATORS: list[KLEstimator] = ["k1", "k2", "k3"]


@given(st.lists(st.tuples(LOGPROB, LOGPROB), max_size=12), st.sampled_from(ESTIMATORS))
def test_estimates_and_their_gradients_are_those_of_the_formulas(tokens: list, kind: KLEstimator) -> None:
    new, reference = torch.tensor(tokens, dtype=torch.float64).reshape(-1, 2).unbind(1)
    new = new.clone().requires_grad_()
    got = grpo.kl_estimate(new, reference, kind)
    (slopes,) = torch.autograd.grad(got.sum(), new)
    for i, (p, q) in enumerate(tokens):
        value, slope = {
            "k1": (p - q, 1.0),
            "k2": ((p - q) ** 2 / 2, p - q),
            "k3": (math.exp(q) / math.exp(p) - 1 - (q - p), 1 - math.exp(q) / math.exp(p)),
        }[kind]
        assert got[i].item() == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert slopes[i].item() == pytest.approx(slope, rel=1e-9, abs=1e-12)


def two_policies() -> tuple[Tensor, Tensor]:
    """Log-probabilities of all of 50 words, near each other."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, generator=generator, dtype=torch.float64)
    other = logits + 0.05 * torch.randn(50, generator=generator, dtype=torch.float64)
    return logits, torch.log_softmax(other, -1)


@pytest.mark.parametrize(("kind", "exact"), [("k1", 1e-12), ("k2", 5e-5), ("k3", 1e-12)])
def test_in_expectation_they_are_the_divergence_k2_nearly(kind: KLEstimator, exact: float) -> None:
    logits, reference = two_policies()
    new = torch.log_softmax(logits, -1)
    divergence = (new.exp() * (new - reference)).sum().item()
    expected = (new.exp() * grpo.kl_estimate(new, reference, kind)).sum().item()
    assert divergence > 1e-3
    assert expected == pytest.approx(divergence, abs=exact)


@pytest.mark.parametrize(
    ("kind", "followed"), [("k1", "nothing"), ("k2", "the divergence"), ("k3", "nearly")]
)
def test_as_losses_only_k2_follows_the_divergence_exactly(kind: KLEstimator, followed: str) -> None:
    logits, reference = two_policies()
    logits.requires_grad_()
    new = torch.log_softmax(logits, -1)
    (true,) = torch.autograd.grad((new.exp() * (new - reference)).sum(), logits, retain_graph=True)
    # over all words, each as often as it is sampled
    (got,) = torch.autograd.grad((new.exp().detach() * grpo.kl_estimate(new, reference, kind)).sum(), logits)
    apart = ((got - true).norm() / true.norm()).item()
    assert {"nothing": got.norm() < 1e-12, "the divergence": apart < 1e-12, "nearly": 1e-12 < apart < 0.1}[
        followed
    ]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_equal_policies_are_no_distance_apart_and_far_ones_a_finite_one(kind: KLEstimator) -> None:
    same = torch.tensor([-1.5, -1e4])
    assert grpo.kl_estimate(same, same, kind).tolist() == [0.0, 0.0]
    assert grpo.kl_estimate(same, same.flip(0), kind).isfinite().all()
