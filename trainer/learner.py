"""One optimization step on this rank: groups in, moved weights and measurements out."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func
from torch import Tensor

from schemas import Group
from trainer import grpo, hf, layers, model, packing, ranks, shards
from trainer.architecture import Architecture
from trainer.config import TrainerConfig
from trainer.grpo import TokenLoss
from trainer.microbatch import MicroBatch, Multiples, collate
from trainer.optimizer import Optimizer
from trainer.rows import Row, rows_of
from trainer.vocabulary import TokenScores


@dataclass(frozen=True)
class Step:
    """What one batch did; None where no row had an advantage, so that no step was taken."""

    loss: float
    ratio_mean: float
    """Mean importance ratio over the trained tokens."""
    clip_fraction: float
    """Share of the trained tokens on which the clip was in force."""
    grad_norm: float
    """Before clipping."""
    taken: bool
    """False when loss or gradients were not finite: the weights stayed as they were."""


class Learner:
    """The policy and its optimizer. Every rank holds one and calls the same methods in the same order."""

    def __init__(self, config: TrainerConfig, policy: Path, architecture: Architecture) -> None:
        self.config, self.policy, self.architecture = config, policy, architecture
        self.model = model.build(architecture, config)
        self.network: Any = self.model.module
        hf.load(policy, architecture, self.network)
        self.optimizer = Optimizer(config, self.model)

    def step(self, groups: Sequence[Group]) -> Step | None:
        """Learn from one batch. Without any advantage nothing moves, Adam's momentum included."""
        rows = rows_of(groups, self.config)
        if not rows:
            return None
        self.optimizer.zero_gradients()
        loss, ratio, clipped, tokens = self._forward_backward(self._micro_batches(rows)).tolist()
        norm, taken = self.optimizer.step(usable=math.isfinite(loss))
        return Step(loss, ratio / tokens, clipped / tokens, norm, taken)

    def scores(self, batch: MicroBatch) -> TokenScores:
        """Log-probabilities and entropies of the completion tokens at the sampling temperature [tokens].

        On the only pipeline stage, of this rank's part of the sequences.
        """
        return self._scores(batch, self._hidden(batch))

    def _hidden(self, batch: MicroBatch) -> Tensor:
        """What the model makes of a part of a micro-batch [1, positions, hidden]; between stages, laid out
        as megatron-core does."""
        return self.model(
            batch.tokens_T[None],
            batch.positions_T[None],
            None,
            packed_seq_params=layers.packed(batch.lengths, batch.tokens_T.device),
        )

    def _scores(self, batch: MicroBatch, hidden_1TH: Tensor) -> TokenScores:
        hidden_TH = model.whole(hidden_1TH[0], sequence_parallel=self.config.sequence_parallel)
        return model.token_scores(
            self.network,
            self.architecture,
            batch.chosen(hidden_TH),
            batch.chosen(batch.targets_T),
            batch.chosen(batch.temperature_T),
        )

    def weights(self) -> dict[str, Tensor]:
        """All weights under their Hugging Face names."""
        self.optimizer.settle()
        return hf.gather(self.architecture, self.network)

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

    def _micro_batches(self, rows: Sequence[Row]) -> list[MicroBatch]:
        """This rank's, as many as every other rank has: they wait for each other in each."""
        c = self.config
        packs = packing.packs([row.tokens for row in rows], c.max_tokens_per_microbatch, c.data_parallel)
        rank = parallel_state.get_context_parallel_rank(), c.context_parallel
        return [
            collate([rows[place] for place in pack], self._multiples).part(*rank).to(ranks.device())
            for pack in packs[parallel_state.get_data_parallel_rank()]
        ]

    @property
    def _multiples(self) -> Multiples:
        shared = self.config.tensor_parallel if self.config.sequence_parallel else 1
        halves = 2 * self.config.context_parallel if self.config.context_parallel > 1 else 1
        return Multiples(sequence=halves, batch=math.lcm(halves, shared * self.config.context_parallel))

    def _forward_backward(self, batches: Sequence[MicroBatch]) -> Tensor:
        """Accumulate gradients; returns all ranks' sums of loss, ratio, clipped tokens and tokens [4]."""
        accumulate: Any = get_forward_backward_func()
        reports = accumulate(
            forward_step_func=self._forward,
            data_iterator=iter(batches),
            model=[self.model],
            num_microbatches=len(batches),
            seq_length=1,  # stages tell each other the shapes
            micro_batch_size=1,
        )
        sums = torch.zeros(4, dtype=torch.float64, device=ranks.device())
        for report in reports:  # none, but on the last stage
            sums += report["sums"]
        dist.all_reduce(sums, group=parallel_state.get_data_parallel_group(with_context_parallel=True))
        ranks.from_last_stage(sums)
        return sums

    def _forward(self, batches: Iterator[MicroBatch], _: Any) -> tuple[Tensor, Any]:
        batch = next(batches)
        hidden = self._hidden(batch)
        if parallel_state.is_pipeline_last_stage():
            hidden = self._scores(batch, hidden).logprobs_N
        return hidden, lambda logprobs_N: self._loss(batch, logprobs_N)

    def _loss(self, batch: MicroBatch, logprobs_N: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        token = self._token_loss(logprobs_N, batch.chosen(batch.sampler_T), batch.chosen(batch.advantages_T))
        loss = (token.loss_N * batch.chosen(batch.weights_T)).sum()
        tokens = torch.tensor(len(logprobs_N), dtype=torch.int, device=logprobs_N.device)
        sums = [loss.detach(), token.ratio_N.sum(), token.clipped_N.sum(), tokens]
        return loss, tokens, {"sums": torch.stack([s.double() for s in sums])}

    def _token_loss(self, logprobs_N: Tensor, sampler_N: Tensor, advantages_N: Tensor) -> TokenLoss:
        c = self.config
        if c.importance_cap is not None:
            return grpo.truncated_loss(logprobs_N, sampler_N, advantages_N, cap=c.importance_cap)
        return grpo.clipped_loss(
            logprobs_N, sampler_N, advantages_N, clip_low=c.clip_low, clip_high=c.clip_high
        )
