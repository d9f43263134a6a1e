"""The trainer as a component: its settings, what must hold before it starts, and its start."""

import os
import sys
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mentor_stream.component import Component
from mentor_stream.config import Config, Section
from trainer import architecture
from trainer.architecture import Architecture, UnsupportedModel


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
    precision: Literal["fp32", "bf16", "fp8"] = "fp32"
    """Format of weights and activations; gradients and optimizer states are float32."""

    clip_low: float = Field(0.2, gt=0, lt=1)
    """The importance ratio is clipped below 1 - clip_low."""
    clip_high: float = Field(0.28, gt=0)
    """The importance ratio is clipped above 1 + clip_high."""
    scale_by_std: bool = True
    """Divide advantages by the deviation of the group's rewards (GRPO); false as in Dr. GRPO."""
    normalization: Literal["token", "sequence", "constant"] = "token"
    """What counts alike in a batch's loss: every token, every trajectory, or tokens over a constant."""
    constant_length: int | None = Field(None, ge=1)
    """With normalization = constant: what each trajectory's sum is divided by, say the longest completion."""
    importance_cap: float | None = Field(None, gt=0)
    """Weigh tokens by min(ratio to the sampler, this) instead of clipping the ratio."""
    hint_context: Literal["keep", "drop"] = "keep"
    """Learn from a guided group under the prompt with its hint, or under the bare one."""
    silent_groups: Literal["replace", "keep"] = "replace"
    """Whether a group whose rewards are all equal makes room for another or takes a place for nothing."""
    max_guided_fraction: float = Field(1.0, ge=0, le=1)
    """Largest share of guided groups in a batch."""

    publish_every: int = Field(1, ge=1)
    """Batches between two released policies."""
    keep_snapshots: int = Field(4, ge=2)
    """Released policies that stay on disk."""
    checkpoint_every: int = Field(10, ge=1)
    """Batches between two checkpoints."""
    keep_checkpoints: int = Field(2, ge=1)
    """Checkpoints that stay on disk."""
    max_tokens_per_microbatch: int = Field(8192, ge=1)
    """Positions that go through the model at once: bounds memory, changes no result."""
    tensor_parallel: int = Field(1, ge=1)
    """Processes that share each layer."""
    data_parallel: int = Field(1, ge=1)
    """Copies of the model that share each batch."""

    @model_validator(mode="after")
    def _has_length(self) -> "TrainerConfig":
        if self.normalization == "constant" and self.constant_length is None:
            raise ValueError(
                "normalization = constant needs constant_length; set it to rollout's longest completion"
            )
        return self

    @property
    def ranks(self) -> int:
        """Processes in all."""
        return self.tensor_parallel * self.data_parallel


def check(config: Config) -> Iterator[str]:
    """Problems that can be seen without loading the model."""
    from trainer import precision

    settings = config.of(TrainerConfig)
    if problem := precision.problem(settings.precision):
        yield problem
    if settings.publish_every > config.run.max_staleness + 1:
        yield (
            f"trainer.publish_every is {settings.publish_every}: samples of the last release are stale after "
            f"run.max_staleness + 1 = {config.run.max_staleness + 1} batches. Set it to that or less."
        )
    yield from _sampling_problems(config)
    yield from _policy_problems(config, settings)


def _sampling_problems(config: Config) -> Iterator[str]:
    """The trainer recomputes log-probs over the whole vocabulary, so nothing may be cut from it."""
    rollout = config.sections.get("rollout")
    for name, off in (("top_p", 1.0), ("top_k", 0)):
        value = getattr(rollout, name, off)
        if value != off:
            yield f"rollout.{name} is {value}: such log-probs cannot be trained on. Set it to {off}."


def _policy_problems(config: Config, settings: TrainerConfig) -> Iterator[str]:
    policy = config.run.policy
    if not policy.is_dir():
        yield f"run.policy is {str(policy)!r}: no such directory. Give a Hugging Face model's directory."
        return
    wanted = {"config.json": "config.json", "*.safetensors": "weights", "tokenizer*": "tokenizer"}
    for pattern, what in wanted.items():
        if not any(policy.glob(pattern)):
            yield f"run.policy is {str(policy)!r}: it holds no {what} ({pattern})."
            if pattern == "config.json":
                return
    try:
        yield from _parallel_problems(architecture.read(policy), settings.tensor_parallel)
    except UnsupportedModel as error:
        yield f"run.policy is {str(policy)!r}: {error}."


def _parallel_problems(model: Architecture, tensor_parallel: int) -> Iterator[str]:
    for part in architecture.indivisible(model, tensor_parallel):
        yield f"trainer.tensor_parallel is {tensor_parallel}: it does not divide the model's {part}."


def run(config: Config) -> None:
    """Train until the run is over or the process is asked to stop.

    With more than one rank the process becomes torchrun, which starts this once per rank.
    """
    ranks = config.of(TrainerConfig).ranks
    if ranks > 1 and "RANK" not in os.environ:
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            f"--nproc-per-node={ranks}",
        ]
        os.execv(sys.executable, [*torchrun, "-m", "trainer", str(config.path)])  # noqa: S606
    from trainer import cpu

    cpu.install()
    from trainer import loop

    loop.run(config)


component = Component(name="trainer", sections=(TrainerConfig,), run=run, check=check)
