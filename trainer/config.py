"""Section [trainer], apart from component.py so that whatever trains may read it; imports no torch."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mentor_stream.config import Section
from trainer.model.precision import Format, Precision, Recipe

Normalization = Literal["token", "sequence", "constant"]
KLEstimator = Literal["k1", "k2", "k3"]
LongRows = Literal["alone", "drop", "truncate"]
Recompute = Literal["none", "selective", "full"]


class TrainerConfig(Section):
    """Section [trainer]."""

    table: ClassVar[str] = "trainer"

    lr: float = Field(1e-6, gt=0)
    """Learning rate after the warm-up."""
    warmup_steps: int = Field(0, ge=0)
    """Steps over which the learning rate rises from 0."""
    betas: tuple[float, float] = (0.9, 0.95)
    """AdamW's decay rates."""
    adam_eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    """Of matrices; norms and biases are exempt."""
    clip_grad: float = Field(1.0, gt=0)
    """Longest gradient, in its global norm."""
    max_bad_steps: int = Field(8, ge=0)
    """Batches in a row whose loss or gradient may be no number: no step is taken; one more ends training."""
    max_logprob_gap: float = Field(0.2, gt=0)
    """Mean distance of the sampler's log-probs from the trainer's above which the log warns."""
    precision: Precision = "fp32"
    """Format of weights and activations; gradients and optimizer states are float32. With fp8 weights are
    bf16, and the layers' matrices are multiplied in FP8."""
    fp8_recipe: Recipe = "tensorwise"
    """How FP8 is scaled: by each tensor's largest value now (tensorwise) or lately (delayed), by blocks of
    128 (blockwise) or of 32 (mxfp8)."""
    fp8_format: Format = "hybrid"
    """FP8 of the gradients: e5m2 (hybrid) or e4m3, which all else is in."""
    first_last_layers_bf16: int = Field(0, ge=0)
    """So many layers at either end are not in FP8."""

    clip_low: float = Field(0.2, gt=0, lt=1)
    """The importance ratio is clipped below 1 - clip_low."""
    clip_high: float = Field(0.28, gt=0)
    """The importance ratio is clipped above 1 + clip_high."""
    scale_by_std: bool = True
    """Divide advantages by the deviation of the group's rewards (GRPO); false as in Dr. GRPO."""
    normalization: Normalization = "token"
    """What counts alike in a batch's loss: every token, every trajectory, or tokens over a constant."""
    constant_length: int | None = Field(None, ge=1)
    """With normalization = constant: what each trajectory's sum is divided by, say the longest completion."""
    old_logprobs: Literal["sampler", "recompute"] = "sampler"
    """What the ratio is taken to: the sampler's log-probs, or the trainer's own as the batch begins."""
    importance_cap: float | None = Field(None, gt=0)
    """Truncated importance sampling. With old_logprobs = sampler tokens weigh min(ratio, this) and nothing is
    clipped; with recompute the clipped loss is weighed by min(old / sampler, this)."""
    kl_coef: float = Field(0.0, ge=0)
    """Of the KL to the reference policy, in the loss; with 0 there is none, and no second model."""
    kl_estimator: KLEstimator = "k3"
    """How the KL is estimated from the sampled tokens."""
    reference: Path | None = None
    """The reference policy, a Hugging Face directory; unset it is run.policy."""
    entropy_coef: float = Field(0.0, ge=0)
    """Of the entropy, which the loss then rewards."""
    epochs: int = Field(1, ge=1)
    """Passes over each batch."""
    minibatches: int = Field(1, ge=1)
    """Optimizer steps in each pass: the batch's groups are parted into so many."""
    hint_context: Literal["keep", "drop"] = "keep"
    """Learn from a guided group under the prompt with its hint, or under the bare one."""
    silent_groups: Literal["replace", "keep"] = "replace"
    """Whether a group whose rewards are all equal makes room for another or takes a place for nothing."""
    max_guided_fraction: float = Field(1.0, ge=0, le=1)
    """Largest share of guided groups in a batch."""

    publish_every: int = Field(1, ge=1)
    """Batches between two released policies."""
    keep_snapshots: int = Field(4, ge=2)
    """Released policies that stay on disk, and as many in run.snapshots."""
    upload_seconds: float = Field(900.0, gt=0)
    """A policy that is not in the store of run.snapshots after so long, with all tries, ends training."""
    checkpoint_every: int = Field(10, ge=1)
    """Batches between two checkpoints."""
    keep_checkpoints: int = Field(2, ge=1)
    """Checkpoints that stay on disk."""
    max_tokens_per_microbatch: int = Field(8192, ge=1)
    """Positions that go through the model at once: bounds memory, no result (long_rows = alone)."""
    long_rows: LongRows = "alone"
    """What becomes of a longer trajectory: it goes through alone, or not at all, or without its end."""
    tensor_parallel: int = Field(1, ge=1)
    """Processes that share each layer."""
    sequence_parallel: bool = False
    """Those processes also share the positions between the layers' matrices, which saves memory."""
    pipeline_parallel: int = Field(1, ge=1)
    """Processes that each have some of the layers, one behind the other."""
    context_parallel: int = Field(1, ge=1)
    """Processes that share each sequence."""
    data_parallel: int = Field(1, ge=1)
    """Copies of the model that share each batch."""
    overlap: bool = False
    """Copies of the model exchange gradients and weights while others are still computed."""
    recompute: Recompute = "none"
    """Activations computed again in the backward pass instead of kept: of attention (selective) or all."""

    @model_validator(mode="after")
    def _has_length(self) -> "TrainerConfig":
        if self.normalization == "constant" and self.constant_length is None:
            raise ValueError(
                "normalization = constant needs constant_length; set it to rollout's longest completion"
            )
        return self

    @model_validator(mode="after")
    def _asks_its_reference(self) -> "TrainerConfig":
        if self.reference is not None and self.kl_coef == 0:
            raise ValueError("reference without kl_coef has no effect; set kl_coef above 0, or take it out")
        return self

    @model_validator(mode="after")
    def _asks_fp8_for_what_it_can(self) -> "TrainerConfig":
        given = {"fp8_recipe", "fp8_format", "first_last_layers_bf16"} & self.model_fields_set
        if given and self.precision != "fp8":
            raise ValueError(f"{min(given)} without precision = fp8 has no effect; set that, or take it out")
        if self.first_last_layers_bf16 and self.fp8_recipe == "delayed":
            raise ValueError(
                "first_last_layers_bf16 does not go with fp8_recipe = delayed, which is one for all layers; "
                "set tensorwise"
            )
        return self

    @model_validator(mode="after")
    def _has_somebody_to_share_with(self) -> "TrainerConfig":
        if self.sequence_parallel and self.tensor_parallel == 1:
            raise ValueError("sequence_parallel needs tensor_parallel above 1: it is those ranks that share")
        return self

    @property
    def drops_hints(self) -> bool:
        """Whether guided groups are learned from under the bare prompt."""
        return self.hint_context == "drop"

    @property
    def learns_from_silence(self) -> bool:
        """Whether a row without an advantage has a gradient all the same: of the KL or of the entropy."""
        return self.kl_coef > 0 or self.entropy_coef > 0

    @property
    def recomputes_old(self) -> bool:
        """Whether old log-probs take a pass of their own: in a batch's only step they are that step's."""
        return self.old_logprobs == "recompute" and self.epochs * self.minibatches > 1

    @property
    def ranks(self) -> int:
        """Processes in all."""
        return self.model_ranks * self.data_parallel

    @property
    def model_ranks(self) -> int:
        """Processes that one copy of the model takes."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel
