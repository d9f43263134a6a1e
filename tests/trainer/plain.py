"""GRPO in plain torch on the model of transformers: what a learner's batches are held against."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from schemas import Group
from tests.trainer.policies import hf_logprobs, hf_scores


def token_terms(theirs: tuple[torch.Tensor, ...], advantage: float, settings: dict[str, Any]) -> torch.Tensor:
    """What each token of one completion adds to the loss, from the formulas as the docs have them."""
    new, entropy, old, sampler, reference = theirs
    cap, recompute = settings.get("importance_cap"), settings.get("old_logprobs") == "recompute"
    ratio = (new - (old if recompute else sampler)).exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage)
    if recompute and cap:
        loss = loss * (old - sampler).exp().clamp(max=cap)
    elif cap:
        loss = -ratio.detach().clamp(max=cap) * advantage * (new - new.detach()).exp()
    r = reference - new
    loss = loss + settings.get("kl_coef", 0.0) * (r.exp() - 1 - r)
    return loss - settings.get("entropy_coef", 0.0) * entropy


def reference_losses(
    model: PreTrainedModel, start: PreTrainedModel, groups: Sequence[Group], lr: float, **settings: Any
) -> list[float]:
    """The loss of each optimizer step on one batch: per sequence, unpadded, token mean over a minibatch."""
    parameters = list(model.parameters())
    adam = torch.optim.AdamW(parameters, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    batch_began = copy.deepcopy(model)
    losses: list[float] = []
    share = len(groups) // settings.get("minibatches", 1)
    parts = [groups[i : i + share] for i in range(0, len(groups), share)]
    for part in parts * settings.get("epochs", 1):
        terms, tokens = [], 0
        for group in part:
            rewards = torch.tensor([t.reward for t in group.trajectories])
            advantages = ((rewards - rewards.mean()) / (rewards.std() + 1e-6)).tolist()
            for trajectory, advantage in zip(group.trajectories, advantages, strict=True):
                temperature = group.sampling.temperature
                new, entropy = hf_scores(model, trajectory, temperature)
                with torch.no_grad():
                    old, reference = (hf_logprobs(m, trajectory, temperature) for m in (batch_began, start))
                theirs = new, entropy, old, torch.tensor(trajectory.logprobs.numpy()), reference
                terms.append(token_terms(theirs, advantage, settings).sum())
                tokens += len(trajectory.completion_ids)
        loss = torch.stack(terms).sum() / tokens
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()
        losses.append(loss.item())
    return losses
