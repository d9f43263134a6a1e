"""The whole loss of a token against float64 arithmetic, for every combination of settings."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.config import parse_section
from trainer import grpo
from trainer.config import TrainerConfig
from trainer.grpo import Tokens

LOGPROB = st.floats(-4, -0.01)
TOKENS = st.lists(st.tuples(*[LOGPROB] * 4, st.floats(-3, 3), st.floats(0, 4)), max_size=8)
"""Log-probabilities of policy, old policy, sampler and reference; advantage; entropy."""
SETTINGS = st.fixed_dictionaries(
    {
        "old_logprobs": st.sampled_from(["sampler", "recompute"]),
        "importance_cap": st.sampled_from([None, 1.5]),
        "kl_coef": st.sampled_from([0.0, 0.1]),
        "kl_estimator": st.sampled_from(["k1", "k2", "k3"]),
        "entropy_coef": st.sampled_from([0.0, 0.01]),
    }
)


def expected(token: tuple[float, ...], settings: dict[str, Any], *, only_step: bool) -> float:
    new, old, sampler, reference, advantage, entropy = token
    old = new if only_step else old
    cap, recompute = settings["importance_cap"], settings["old_logprobs"] == "recompute"
    ratio = math.exp(new - (old if recompute else sampler))
    loss = -min(ratio * advantage, min(max(ratio, 0.8), 1.28) * advantage)
    if cap and recompute:
        loss *= min(math.exp(old - sampler), cap)
    elif cap:
        loss = -min(ratio, cap) * advantage
    r = reference - new
    kl = {"k1": -r, "k2": r * r / 2, "k3": math.exp(r) - 1 - r}[settings["kl_estimator"]]
    return loss + settings["kl_coef"] * kl - settings["entropy_coef"] * entropy


@given(TOKENS, SETTINGS, st.booleans())
def test_the_loss_is_the_sum_of_what_the_settings_ask_for(
    tokens: list, settings: dict[str, Any], only_step: bool
) -> None:
    config = parse_section(TrainerConfig, settings, "trainer")
    new, old, sampler, reference, advantage, entropy = (
        torch.tensor(tokens, dtype=torch.float64).reshape(-1, 6).unbind(1)
    )
    known = Tokens(sampler, advantage, None if only_step else old, reference if settings["kl_coef"] else None)
    got = grpo.objective(new, entropy, known, config)
    wanted = [expected(token, settings, only_step=only_step) for token in tokens]
    assert got.loss_N.tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert (got.kl_N is None) == (settings["kl_coef"] == 0)


def test_in_the_only_step_on_a_batch_the_ratio_to_the_old_policy_is_one_and_its_gradient_is_kept() -> None:
    config = parse_section(TrainerConfig, {"old_logprobs": "recompute"}, "trainer")
    new = torch.tensor([-1.0, -2.0], requires_grad=True)
    got = grpo.objective(new, new.detach(), Tokens(new.detach() - 3, torch.tensor([1.0, -2.0])), config)
    got.loss_N.sum().backward()
    assert got.ratio_N.tolist() == [1.0, 1.0]
    assert new.grad is not None
    assert new.grad.tolist() == [-1.0, 2.0]
