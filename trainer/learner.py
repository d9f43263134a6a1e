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
from trainer import grpo, hf, model, packing, ranks, shards
from trainer.architecture import Architecture
from trainer.config import TrainerConfig
from trainer.grpo import TokenLoss
from trainer.optimizer import Optimizer
from trainer.packing import MicroBatch
from trainer.rows import rows_of
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
        self.model = model.build(architecture, config.precision)
        self.network: Any = self.model.module
        hf.load(policy, architecture, self.network)
        self.optimizer = Optimizer(config, self.model)

    def step(self, groups: Sequence[Group]) -> Step | None:
        """Learn from one batch. Without any advantage nothing moves, Adam's momentum included."""
        rows = rows_of(groups, self.config)
        if not rows:
            return None
        mine = packing.micro_batches(rows, self.config.max_tokens_per_microbatch)[self._share()]
        self.optimizer.zero_gradients()
        sums = self._forward_backward(mine or [packing.nothing(rows[0])])
        dist.all_reduce(sums, group=parallel_state.get_data_parallel_group())
        loss, ratio, clipped, tokens = sums.tolist()
        norm, taken = self.optimizer.step(usable=math.isfinite(loss))
        return Step(loss, ratio / tokens, clipped / tokens, norm, taken)

    def scores(self, batch: MicroBatch) -> TokenScores:
        """Log-probabilities and entropies of the completion tokens at the sampling temperature [tokens]."""
        where = ranks.device()
        tokens_BT, chosen_BT = batch.tokens_BT.to(where), batch.completion_BT.to(where)
        positions_BT = torch.arange(tokens_BT.size(1), device=where).expand_as(tokens_BT)
        hidden_BTH = self.model(tokens_BT, positions_BT, None)
        targets_N, temperature_N = batch.targets_BT.to(where)[chosen_BT], batch.temperature_N.to(where)
        return model.token_scores(
            self.network, self.architecture, hidden_BTH[chosen_BT], targets_N, temperature_N
        )

    def weights(self) -> dict[str, Tensor]:
        """All weights under their Hugging Face names."""
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
        weights = self.network.sharded_state_dict()
        return {"model": weights} | self.optimizer.sharded_state(weights, loading=loading)

    def _share(self) -> slice:
        rank = parallel_state.get_data_parallel_rank()
        return slice(rank, None, parallel_state.get_data_parallel_world_size())

    def _forward_backward(self, batches: Sequence[MicroBatch]) -> Tensor:
        """Accumulate gradients; returns sums of loss, ratio, clipped tokens and tokens [4]."""
        accumulate: Any = get_forward_backward_func()
        reports = accumulate(
            forward_step_func=self._forward,
            data_iterator=iter(batches),
            model=[self.model],
            num_microbatches=len(batches),
            seq_length=1,  # both unused without pipeline stages
            micro_batch_size=1,
        )
        return torch.stack([report["sums"] for report in reports]).sum(0)

    def _forward(self, batches: Iterator[MicroBatch], _: Any) -> tuple[Tensor, Any]:
        batch = next(batches)
        return self.scores(batch).logprobs_N, lambda logprobs_N: self._loss(batch, logprobs_N)

    def _loss(self, batch: MicroBatch, logprobs_N: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        where = logprobs_N.device
        token = self._token_loss(logprobs_N, batch.sampler_N.to(where), batch.advantages_N.to(where))
        loss = (token.loss_N * batch.weights_N.to(where)).sum()
        tokens = torch.tensor(len(logprobs_N), dtype=torch.int, device=where)
        sums = [loss.detach(), token.ratio_N.sum(), token.clipped_N.sum(), tokens]
        return loss, tokens, {"sums": torch.stack([s.double() for s in sums])}

    def _token_loss(self, logprobs_N: Tensor, sampler_N: Tensor, advantages_N: Tensor) -> TokenLoss:
        c = self.config
        if c.importance_cap is not None:
            return grpo.truncated_loss(logprobs_N, sampler_N, advantages_N, cap=c.importance_cap)
        return grpo.clipped_loss(
            logprobs_N, sampler_N, advantages_N, clip_low=c.clip_low, clip_high=c.clip_high
        )
