"""The reference policy: a second model, loaded once and never moved, that the KL is taken to."""

from pathlib import Path

from trainer.config import TrainerConfig
from trainer.hf import conversion
from trainer.learning.scorer import Scorer
from trainer.model import architecture, gpt


def directory(config: TrainerConfig, policy: Path) -> Path | None:
    """Where the reference policy is: trainer.reference, else the run's first policy; None without any KL."""
    return (config.reference or policy) if config.kl_coef > 0 else None


def load(config: TrainerConfig, policy: Path) -> Scorer | None:
    """The reference on this rank, in the trainer's precision and shared like the policy; None without any KL.

    It is never in FP8, but in bf16 then. It may have another shape than the policy, and the same vocabulary.
    """
    place = directory(config, policy)
    if place is None:
        return None
    shape = architecture.read(place)
    network = gpt.frozen(shape, config)
    conversion.load(place, shape, network)
    return Scorer(config, shape, network)
