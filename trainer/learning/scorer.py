"""A model on this rank, and what it says of tokens: the policy's way through it and the reference's."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func
from torch import Tensor

from trainer.config import TrainerConfig
from trainer.model import gpt, layers
from trainer.model.architecture import Architecture
from trainer.model.vocabulary import TokenScores
from trainer.packing.microbatch import MicroBatch

Said = Callable[[TokenScores], Any]
"""What becomes of the scores of one micro-batch; asked on the last pipeline stage only."""


class Scorer:
    """Every rank holds its part of the model and calls the same methods in the same order."""

    def __init__(self, config: TrainerConfig, architecture: Architecture, whole: Any) -> None:
        self.config, self.architecture = config, architecture
        self.model = whole
        """What is called: the network, or what wraps it for data parallelism."""
        self.network: Any = getattr(whole, "module", whole)

    def hidden(self, batch: MicroBatch) -> Tensor:
        """What the model makes of a part of a micro-batch [1, positions, hidden]; between stages, laid out
        as megatron-core does."""
        return self.model(
            batch.tokens_T[None],
            batch.positions_T[None],
            None,
            packed_seq_params=layers.packed(
                batch.lengths, batch.tokens_T.device, shared=self.config.context_parallel > 1
            ),
        )

    def scores(self, batch: MicroBatch, hidden_1TH: Tensor) -> TokenScores:
        """Log-probabilities and entropies of the completion tokens at the sampling temperature [tokens].

        On the last pipeline stage, of this rank's part of the sequences.
        """
        hidden_TH = gpt.whole(hidden_1TH[0], sequence_parallel=self.config.sequence_parallel)
        return gpt.token_scores(
            self.network,
            self.architecture,
            batch.chosen(hidden_TH),
            batch.chosen(batch.targets_T),
            batch.chosen(batch.temperature_T),
        )

    def run(
        self, batches: Sequence[MicroBatch], said: Sequence[Said], *, forward_only: bool = False
    ) -> list[Any]:
        """Take micro-batches through the stages; what `said` made of each, none but on the last stage.

        `said` gives (loss, tokens, what it reports), and the gradients of the loss are accumulated; or with
        `forward_only` what it reports alone.
        """
        through: Any = get_forward_backward_func()
        return through(
            forward_step_func=self._forward,
            data_iterator=zip(batches, said, strict=True),
            model=[self.model],
            num_microbatches=len(batches),
            seq_length=1,  # stages tell each other the shapes
            micro_batch_size=1,
            forward_only=forward_only,
            collect_non_loss_data=forward_only,
        )

    @torch.no_grad()
    def logprobs(self, batches: Sequence[MicroBatch]) -> list[Tensor | None]:
        """Of the completion tokens of each micro-batch [tokens]; None but on the last pipeline stage."""
        found = self.run(batches, [lambda scores: scores.logprobs_N] * len(batches), forward_only=True)
        return found or [None] * len(batches)

    def _forward(self, work: Iterator[tuple[MicroBatch, Said]], _: Any) -> tuple[Tensor, Any]:
        batch, said = next(work)
        hidden = self.hidden(batch)
        if not parallel_state.is_pipeline_last_stage():
            return hidden, None
        scores = self.scores(batch, hidden)
        return scores.logprobs_N, lambda _, **__: said(scores)
