import copy
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

import schemas
from mentor_stream.config import parse_section
from schemas import Group
from tests.trainer.dealing import learn
from tests.trainer.plain import reference_losses
from tests.trainer.policies import hf_logprobs, hf_model, sampled_groups, weights_of
from trainer.config import TrainerConfig
from trainer.grpo import Objective
from trainer.learning.learner import Learner
from trainer.learning.steps import Step
from trainer.model import architecture
from trainer.packing import balance
from trainer.packing.microbatch import Multiples, collate
from trainer.packing.rows import rows_of

pytestmark = pytest.mark.usefixtures("rank")


def a_learner(policy: Path, **settings: object) -> Learner:
    config = parse_section(TrainerConfig, {"lr": 1e-2, **settings}, "trainer")
    return Learner(config, policy, architecture.read(policy))


def weights(learner: Learner) -> dict[str, torch.Tensor]:
    return weights_of(learner.weights())


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
    step = learn(a_learner(policy), sampled_groups(policy, 3, temperature=temperature))
    assert step
    assert step.ratio_mean == pytest.approx(1.0, abs=1e-4)
    assert step.clip_fraction == 0.0


def test_logprobs_are_those_of_each_sequence_alone(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    learner, theirs = a_learner(policy), hf_model(policy)
    groups = sampled_groups(policy, 4)
    rows = rows_of(groups, learner.config).learned
    (packs,) = balance.packs([row.tokens for row in rows], 40, 1)
    assert len(packs) > 1
    for pack in packs:
        batch = collate([rows[place] for place in pack], Multiples())
        scores = learner.scorer.scores(batch, learner.scorer.hidden(batch))
        torch.testing.assert_close(scores.logprobs_N, batch.chosen(batch.sampler_T), rtol=0, atol=1e-5)
    alone = hf_logprobs(theirs, groups[0].trajectories[0], 1.0)
    torch.testing.assert_close(
        alone, torch.tensor(groups[0].trajectories[0].logprobs.numpy()), rtol=0, atol=1e-5
    )


MANY = {"epochs": 2, "minibatches": 2}
CORRECTED = {"old_logprobs": "recompute", "importance_cap": 1.1}
REGULARIZED = {"kl_coef": 0.5, "entropy_coef": 0.1}


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("llama", {}),
        ("qwen3", {}),
        ("llama", {"importance_cap": 1.1}),
        ("llama", CORRECTED),
        ("llama", REGULARIZED),
        ("llama", MANY),
        ("qwen3", MANY | CORRECTED | REGULARIZED),
    ],
    ids=["clipped", "qwen3", "truncated", "corrected", "regularized", "several steps", "everything"],
)
def test_a_batch_does_what_plain_torch_does(
    policy_of: Callable[..., Path], family: str, settings: dict[str, Any]
) -> None:
    policy, other = policy_of(family), policy_of("qwen2")
    groups = off_policy(sampled_groups(policy, 4, temperature=0.8))
    if "kl_coef" in settings:
        ours = a_learner(policy, lr=1e-3, reference=other, max_tokens_per_microbatch=40, **settings)
    else:
        ours = a_learner(policy, lr=1e-3, max_tokens_per_microbatch=40, **settings)
    model = hf_model(policy)
    step = learn(ours, groups)
    losses = reference_losses(model, hf_model(other), groups, 1e-3, **settings)
    assert step
    assert step.clip_fraction > 0
    assert step.steps_taken == len(losses)
    assert step.loss == pytest.approx(sum(losses) / len(losses), abs=2e-6)
    for name, weight in weights(ours).items():
        torch.testing.assert_close(weight, model.get_parameter(name).detach(), rtol=0, atol=2e-5, msg=name)


def test_epochs_go_on_where_the_first_pass_began(policy_of: Callable[..., Path]) -> None:
    """Of the log-probs compared with, that is: a second batch of the same groups starts anew."""
    policy = policy_of()
    groups = off_policy(sampled_groups(policy, 2))
    settings = {"old_logprobs": "recompute"}
    once = learn(a_learner(policy, epochs=2, **settings), groups)
    fresh = a_learner(policy, **settings)
    twice = [learn(fresh, groups), learn(fresh, groups)]
    assert once
    assert [step.ratio_max for step in twice if step] == [1.0, 1.0]
    assert once.ratio_max > 1.01


def test_a_gap_to_the_sampler_is_measured_before_anything_moved(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = off_policy(sampled_groups(policy, 4), shift=0.3)
    steps = [learn(a_learner(policy, max_logprob_gap=0.2, **s), groups) for s in ({}, MANY | CORRECTED)]
    for step in steps:
        assert step
        assert step.logprob_gap_mean == pytest.approx(0.3, abs=1e-4)
        assert step.logprob_gap_max == pytest.approx(0.3, abs=1e-3)
        assert step.logprob_gap_alarm


def test_tokens_learned_from_under_another_prompt_are_not_compared_with_the_samplers(
    policy_of: Callable[..., Path],
) -> None:
    policy = policy_of()
    guided = [
        msgspec.structs.replace(group, bare_prompt_ids=schemas.ids([7, 8, 9]))
        for group in sampled_groups(policy, 2)
    ]
    fresh = sampled_groups(policy, 1, seed=5)
    only, mixed = (
        learn(a_learner(policy, hint_context="drop"), groups) for groups in (guided, [*guided, *fresh])
    )
    assert only
    assert (only.logprob_gap_mean, only.logprob_gap_max, only.logprob_gap_alarm) == (None, None, False)
    assert mixed
    assert mixed.logprob_gap_max == pytest.approx(0.0, abs=1e-4)
    assert abs(mixed.ratio_mean - 1) > 0.01


def test_padding_is_what_positions_hold_no_token(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    step = learn(a_learner(policy), groups)
    assert step
    assert step.padding_fraction == 0.0
    assert step.trained_tokens == sum(group.completion_tokens for group in groups)


@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
def test_micro_batches_change_no_result(policy_of: Callable[..., Path], normalization: str) -> None:
    policy = policy_of()
    groups = off_policy(sampled_groups(policy, 4))
    options = {"normalization": normalization, "constant_length": 8}
    steps = [learn(a_learner(policy, max_tokens_per_microbatch=m, **options), groups) for m in (1, 30, 4096)]
    for step in steps[1:]:
        assert step
        assert steps[0]
        assert step.loss == pytest.approx(steps[0].loss, abs=1e-6)
        assert step.grad_norm == pytest.approx(steps[0].grad_norm, rel=1e-5)


def silenced(groups: Sequence[Group]) -> list[Group]:
    """The same groups, every answer judged wrong."""
    return [
        msgspec.structs.replace(
            group,
            trajectories=tuple(
                msgspec.structs.replace(t, reward=0.0, verdict=schemas.Verdict.WRONG)
                for t in group.trajectories
            ),
        )
        for group in groups
    ]


def test_a_batch_without_signal_moves_nothing_not_even_momentum(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner, twin = a_learner(policy), a_learner(policy)
    learn(learner, groups)
    learn(twin, groups)
    before = copy.deepcopy(weights(learner))
    assert learn(learner, silenced(groups)) is None
    assert all(torch.equal(before[name], now) for name, now in weights(learner).items())
    assert learn(learner, groups) == learn(twin, groups)


@pytest.mark.parametrize("settings", [{"entropy_coef": 0.1}, {"kl_coef": 0.1}], ids=["entropy", "KL"])
def test_a_batch_without_signal_follows_the_other_terms(
    policy_of: Callable[..., Path], settings: dict[str, Any]
) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner = a_learner(policy, **settings)
    learn(learner, groups)
    silent = learn(learner, silenced(groups))
    again = learn(learner, silenced(groups))
    assert silent
    assert again
    assert (silent.steps_taken, silent.grad_norm > 0) == (1, True)
    if silent.kl is not None and again.kl is not None:
        assert 0 < again.kl < silent.kl
    else:
        assert again.entropy > silent.entropy


def test_the_run_s_first_policy_is_its_own_reference_at_no_distance(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    step = learn(a_learner(policy, kl_coef=0.1, max_tokens_per_microbatch=40), sampled_groups(policy, 3))
    assert step
    assert step.kl == 0.0


def test_a_minibatch_without_signal_takes_no_step(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    both, first = a_learner(policy, minibatches=2), a_learner(policy)
    found = learn(both, [groups[0], *silenced(groups[1:])])
    assert found == learn(first, groups[:1])
    assert found
    assert found.steps_taken == 1


def test_a_batch_of_too_long_rows_alone_takes_no_step_and_says_so(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    step = learn(a_learner(policy, long_rows="drop", max_tokens_per_microbatch=2), groups)
    assert step
    assert (step.taken, step.bad_steps, step.dropped_rows) == (False, 0, 8)


def test_the_learning_rate_warms_up(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups, start = sampled_groups(policy, 2), hf_model(policy)
    moved = {}
    for warmup in (0, 10):
        learner = a_learner(policy, warmup_steps=warmup)
        learn(learner, groups)
        moved[warmup] = max(
            (new - start.get_parameter(n)).abs().max().item() for n, new in weights(learner).items()
        )
    assert moved[10] == pytest.approx(moved[0] / 10, rel=1e-3)


def test_weight_decay_spares_norms(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    plain, decayed = a_learner(policy), a_learner(policy, weight_decay=0.5)
    learn(plain, groups)
    learn(decayed, groups)
    a, b = weights(plain), weights(decayed)
    assert torch.equal(a["model.norm.weight"], b["model.norm.weight"])
    assert not torch.equal(a["lm_head.weight"], b["lm_head.weight"])


def test_truncated_importance_weights_learn_too(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    step = learn(a_learner(policy, importance_cap=1.1), off_policy(sampled_groups(policy, 2)))
    assert step
    assert step.grad_norm > 0
    assert 0 < step.clip_fraction < 1


def test_bf16_is_close_to_fp32(policy_of: Callable[..., Path]) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 3)
    steps: list[Step | None] = [learn(a_learner(policy, precision=p), groups) for p in ("fp32", "bf16")]
    assert steps[0]
    assert steps[1]
    assert steps[1].ratio_mean == pytest.approx(1.0, abs=0.05)
    assert steps[1].grad_norm == pytest.approx(steps[0].grad_norm, rel=0.1)
    assert math.isfinite(steps[1].loss)


@pytest.mark.parametrize("damage", [float("nan"), float("inf")])
@pytest.mark.parametrize("settings", [{}, MANY | CORRECTED | REGULARIZED], ids=["plain", "everything"])
def test_a_batch_whose_loss_is_no_number_moves_nothing_and_the_next_one_learns(
    policy_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, damage: float, settings: dict[str, Any]
) -> None:
    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner, untouched = a_learner(policy, **settings), a_learner(policy, **settings)
    with monkeypatch.context() as damaged:
        damaged.setattr(
            learner,
            "_objective",
            lambda scores, _: Objective(
                scores.logprobs_N * damage, scores.logprobs_N.detach(), scores.logprobs_N > 0, None
            ),
        )
        step = learn(learner, groups)
    assert step
    assert not step.taken
    assert step.bad_steps == learner.config.epochs * learner.config.minibatches
    assert all(torch.equal(w, weights(untouched)[name]) for name, w in weights(learner).items())
    assert learn(learner, groups) == learn(untouched, groups)


@pytest.mark.parametrize("who", ["reference", "old policy"])
def test_log_probs_that_are_no_numbers_are_a_bad_step_wherever_they_are_from(
    policy_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    policy = policy_of()
    learner = a_learner(policy, **MANY, **CORRECTED, **REGULARIZED)
    before = copy.deepcopy(weights(learner))
    asked = learner.reference if who == "reference" else learner.scorer
    assert asked
    honest = asked.logprobs
    damaged = lambda batches: [x * math.nan for x in honest(batches) if x is not None]  # noqa: E731
    monkeypatch.setattr(asked, "logprobs", damaged)
    step = learn(learner, sampled_groups(policy, 2))
    assert step
    assert (step.taken, step.bad_steps) == (False, 4)
    assert all(torch.equal(before[name], now) for name, now in weights(learner).items())
