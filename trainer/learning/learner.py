"""One optimization step on this rank: its share of a batch in, moved weights and measurements out."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from megatron.core import parallel_state
from torch import Tensor

from trainer import grpo, ranks, shards
from trainer.config import TrainerConfig
from trainer.grpo import Objective, Tokens
from trainer.hf import conversion
from trainer.learning import measures, reference, steps
from trainer.learning.optimizer import Optimizer
from trainer.learning.scorer import Scorer
from trainer.learning.steps import Outcome, Step
from trainer.model import fp8, gpt
from trainer.model.architecture import Architecture
from trainer.model.vocabulary import TokenScores
from trainer.packing.microbatch import MicroBatch, Multiples, collate, multiples
from trainer.packing.rows import Row
from trainer.packing.shares import Part, Share


class Minibatch(NamedTuple):
    """What one optimizer step learns from: this rank's micro-batches and what is known of their tokens."""

    batches: list[MicroBatch]
    tokens: list[Tokens]
    filled: int
    """Positions on all ranks that are no padding."""


class Learner:
    """The policy and its optimizer. Every rank holds one and calls the same methods in the same order."""

    def __init__(self, config: TrainerConfig, policy: Path, architecture: Architecture) -> None:
        self.config, self.policy, self.architecture = config, policy, architecture
        self.model = gpt.build(architecture, config)
        self.network: Any = self.model.module
        conversion.load(policy, architecture, self.network)
        self.scorer = Scorer(config, architecture, self.model)
        self.reference = reference.load(config, policy)
        self.optimizer = Optimizer(config, self.model)

    def step(self, share: Share) -> Step | None:
        """Learn from one batch. None without a row to learn from: nothing moves, Adam's momentum included.

        Each minibatch is a batch of its own in normalization and gradient clipping. What log-probabilities
        are compared with, those of old policy and reference, is from the batch's beginning.
        """
        parts, dropped, truncated = share
        if not parts:
            return steps.nothing(dropped=dropped) if dropped else None
        ready = [self._minibatch(part) for part in parts]
        outcomes = [self._optimize(minibatch) for _ in range(self.config.epochs) for minibatch in ready]
        return steps.together(outcomes, self.config, dropped=dropped, truncated=truncated)

    def weights(self) -> Iterator[tuple[str, Tensor]]:
        """On rank 0, each weight under its Hugging Face name; every rank goes through to the end."""
        self.optimizer.settle()
        return conversion.gather(self.architecture, self.network)

    def save(self, directory: Path) -> None:
        """Write this rank's part of a checkpoint: the model, the optimizer and the random state."""
        shards.save(self._sharded_state(loading=False), directory)

    def load(self, directory: Path) -> None:
        """Continue from a checkpoint."""
        state = shards.load(self._sharded_state(loading=True), directory)
        self.network.load_state_dict(state["model"])
        self.optimizer.load(state)

    def _sharded_state(self, *, loading: bool) -> dict[str, Any]:
        self.optimizer.settle()
        weights = self.network.sharded_state_dict()
        return {"model": weights} | self.optimizer.sharded_state(weights, loading=loading)

    def _micro_batch(self, rows: Sequence[Row]) -> MicroBatch:
        """What this rank has of the rows: all, or its pieces of each where ranks share sequences."""
        rank = parallel_state.get_context_parallel_rank(), self.config.context_parallel
        return collate(rows, self._multiples).part(*rank).to(ranks.device())

    @property
    def _multiples(self) -> Multiples:
        shared = self.config.tensor_parallel if self.config.sequence_parallel else 1
        return multiples(self.config.context_parallel, shared, fp8.positions(self.config))

    def _minibatch(self, part: Part) -> Minibatch:
        batches = [self._micro_batch(rows) for rows in part.packs]
        unknown = [None] * len(batches)
        old = self.scorer.logprobs(batches) if self.config.recomputes_old else unknown
        reference = self.reference.logprobs(batches) if self.reference else unknown
        tokens = [
            Tokens(b.chosen(b.sampler_T), b.chosen(b.advantages_T), old_N, reference_N)
            for b, old_N, reference_N in zip(batches, old, reference, strict=True)
        ]
        return Minibatch(batches, tokens, part.filled)

    def _optimize(self, minibatch: Minibatch) -> Outcome:
        """One optimizer step. Gradients are accumulated over the micro-batches."""
        self.optimizer.zero_gradients()
        losses = [partial(self._loss, *known) for known in zip(*minibatch[:2], strict=True)]
        found = measures.together(self.scorer.run(minibatch.batches, losses))
        norm, taken = self.optimizer.step(usable=math.isfinite(found.loss))
        return Outcome(found, minibatch.filled, norm, taken)

    def _loss(self, batch: MicroBatch, tokens: Tokens, scores: TokenScores) -> tuple[Tensor, Tensor, Tensor]:
        found = self._objective(scores, tokens)
        loss = (found.loss_N * batch.chosen(batch.weights_T)).sum()
        count = torch.tensor(len(found.loss_N), dtype=torch.int, device=loss.device)
        return loss, count, measures.measured(loss, found, scores, batch, tokens.sampler_N)

    def _objective(self, scores: TokenScores, tokens: Tokens) -> Objective:
        return grpo.objective(scores.logprobs_N, scores.entropy_N, tokens, self.config)
