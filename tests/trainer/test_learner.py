import copy
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
import torch

import schemas
from mentor_stream.config import parse_section
from schemas import Group
from tests.trainer.policies import hf_logprobs, hf_model, sampled_groups
from trainer import architecture, packing
from trainer.config import TrainerConfig
from trainer.grpo import TokenLoss
from trainer.learner import Learner, Step
from trainer.microbatch import Multiples, collate
from trainer.rows import rows_of

pytestmark = pytest.mark.usefixtures("rank")


def a_learner(policy: Path, **settings: object) -> Learner:
    config = parse_section(TrainerConfig, {"lr": 1e-2, **settings}, "trainer")
    return Learner(config, policy, architecture.read(policy))


def weights(learner: Learner) -> dict[str, torch.Tensor]:
    return learner.weights()


def off_policy(groups: Sequence[Group], shift: float = 0.3) -> list[Group]:
    """The same groups, as if a sampler with other log-probs had drawn them."""

    def moved(group: Group) -> Group:
        rows = [
            msgspec.structs.replace(t, logprobs=schemas.floats(t.logprobs.numpy() + shift * (-1) ** (i // 2)))
            for i, t in enumerate(group.trajectories)
        ]
        return msgspec.structs.replace(group, trajectories=tuple(rows))

    return [moved(group) for group in groups]


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_on_fresh_groups_the_mean_importance_ratio_is_one(
    policy_of: Callable[..., Path], family: str, temperature: float
) -> None:
    policy = policy_of(family)
    step = a_learner(policy).step(sampled_groups(policy, 3, temperature=temperature))
    assert step
    assert step.ratio_mean == pytest.approx(1.0, abs=1e-4)
    assert step.clip_fraction == 0.0


def test_logprobs_are_those_of_each_sequence_alone(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    learner, theirs = a_learner(policy), hf_model(policy)
    groups = sampled_groups(policy, 4)
    rows = rows_of(groups, learner.config)
    (packs,) = packing.packs([row.tokens for row in rows], 40, 1)
    assert len(packs) > 1
    for pack in packs:
        batch = collate([rows[place] for place in pack], Multiples())
        torch.testing.assert_close(
            learner.scores(batch).logprobs_N, batch.chosen(batch.sampler_T), rtol=0, atol=1e-5
        )
    alone = hf_logprobs(theirs, groups[0].trajectories[0], 1.0)
    torch.testing.assert_close(
        alone, torch.tensor(groups[0].trajectories[0].logprobs.numpy()), rtol=0, atol=1e-5
    )


def reference_step(model: torch.nn.Module, groups: Sequence[Group], lr: float) -> float:
    """One GRPO step in plain torch on the transformers model: per sequence, no padding, token mean."""
    terms, tokens = [], 0
    for group in groups:
        rewards = torch.tensor([t.reward for t in group.trajectories])
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for trajectory, advantage in zip(group.trajectories, advantages, strict=True):
            new = hf_logprobs(model, trajectory, group.sampling.temperature)  # pyright: ignore[reportArgumentType]
            ratio = (new - torch.tensor(trajectory.logprobs.numpy())).exp()
            terms.append(-torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage).sum())
            tokens += len(trajectory.completion_ids)
    loss = torch.stack(terms).sum() / tokens
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.0).step()
    return loss.item()


@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_a_step_is_that_of_plain_torch(policy_of: Callable[..., Path], family: str) -> None:
    policy = policy_of(family)
    groups = off_policy(sampled_groups(policy, 3))
    learner, model = a_learner(policy), hf_model(policy)
    step = learner.step(groups)
    assert step
    assert step.clip_fraction > 0
    assert step.loss == pytest.approx(reference_step(model, groups, 1e-2), abs=1e-6)
    for name, ours in weights(learner).items():
        torch.testing.assert_close(ours, model.get_parameter(name).detach(), rtol=0, atol=2e-4)


@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
def test_micro_batches_change_no_result(policy_of: Callable[..., Path], normalization: str) -> None:
    policy = policy_of()
    groups = off_policy(sampled_groups(policy, 4))
    options = {"normalization": normalization, "constant_length": 8}
    steps = [a_learner(policy, max_tokens_per_microbatch=m, **options).step(groups) for m in (1, 30, 4096)]
    for step in steps[1:]:
        assert step
        assert steps[0]
        assert step.loss == pytest.approx(steps[0].loss, abs=1e-6)
        assert step.grad_norm == pytest.approx(steps[0].grad_norm, rel=1e-5)


def test_a_batch_without_signal_moves_nothing_not_even_momentum(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    silent = [
        msgspec.structs.replace(
            group,
            trajectories=tuple(
                msgspec.structs.replace(t, reward=0.0, verdict=schemas.Verdict.WRONG)
                for t in group.trajectories
            ),
        )
        for group in groups
    ]
    learner, twin = a_learner(policy), a_learner(policy)
    learner.step(groups)
    twin.step(groups)
    before = copy.deepcopy(weights(learner))
    assert learner.step(silent) is None
    assert all(torch.equal(before[name], now) for name, now in weights(learner).items())
    assert learner.step(groups) == twin.step(groups)


def test_the_learning_rate_warms_up(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups, start = sampled_groups(policy, 2), hf_model(policy)
    moved = {}
    for warmup in (0, 10):
        learner = a_learner(policy, warmup_steps=warmup)
        learner.step(groups)
        moved[warmup] = max(
            (new - start.get_parameter(n)).abs().max().item() for n, new in weights(learner).items()
        )
    assert moved[10] == pytest.approx(moved[0] / 10, rel=1e-3)


def test_weight_decay_spares_norms(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    plain, decayed = a_learner(policy), a_learner(policy, weight_decay=0.5)
    plain.step(groups)
    decayed.step(groups)
    a, b = weights(plain), weights(decayed)
    assert torch.equal(a["model.norm.weight"], b["model.norm.weight"])
    assert not torch.equal(a["lm_head.weight"], b["lm_head.weight"])


def test_truncated_importance_weights_learn_too(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    step = a_learner(policy, importance_cap=1.1).step(off_policy(sampled_groups(policy, 2)))
    assert step
    assert step.grad_norm > 0
    assert 0 < step.clip_fraction < 1


def test_bf16_is_close_to_fp32(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 3)
    steps: list[Step | None] = [a_learner(policy, precision=p).step(groups) for p in ("fp32", "bf16")]
    assert steps[0]
    assert steps[1]
    assert steps[1].ratio_mean == pytest.approx(1.0, abs=0.05)
    assert steps[1].grad_norm == pytest.approx(steps[0].grad_norm, rel=0.1)
    assert math.isfinite(steps[1].loss)


@pytest.mark.parametrize("damage", [float("nan"), float("inf")])
def test_a_batch_whose_loss_is_no_number_moves_nothing_and_the_next_one_learns(
    policy_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, damage: float
) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner, untouched = a_learner(policy), a_learner(policy)
    with monkeypatch.context() as damaged:
        damaged.setattr(
            learner,
            "_token_loss",
            lambda logprobs, *_: TokenLoss(logprobs * damage, logprobs.detach(), logprobs > 0),
        )
        step = learner.step(groups)
    assert step
    assert not step.taken
    assert all(torch.equal(w, weights(untouched)[name]) for name, w in weights(learner).items())
    assert learner.step(groups) == untouched.step(groups)
