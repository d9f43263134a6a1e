"""What one batch did, in numbers: its optimizer steps as one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trainer.config import TrainerConfig
from trainer.learning.measures import Measures


class Outcome(NamedTuple):
    """One optimizer step."""

    measures: Measures
    filled: int
    """Positions that were no padding."""
    grad_norm: float
    taken: bool


@dataclass(frozen=True)
class Step:
    """What one batch did. Numbers are those of the optimizer steps that were taken, of all when none was."""

    loss: float
    """Mean over the steps."""
    ratio_mean: float
    """Mean importance ratio over the trained tokens."""
    clip_fraction: float
    """Share of the trained tokens on which the clip or the importance cap was in force."""
    grad_norm: float
    """Before clipping; mean over the steps."""
    steps_taken: int = 1
    bad_steps: int = 0
    """Steps not taken, since loss or gradients were not finite: the weights stayed as they were."""
    ratio_max: float = math.nan
    entropy: float = math.nan
    """Mean over the trained tokens, in nats, at the temperature of sampling."""
    kl: float | None = None
    """Mean estimate over the trained tokens; None without a reference policy."""
    logprob_gap_mean: float | None = None
    """Mean distance between the sampler's and the trainer's log-probs in the batch's first step, over tokens
    that the sampler drew under the very prompt; None when there are none."""
    logprob_gap_max: float | None = None
    logprob_gap_alarm: bool = False
    """Whether the mean is above trainer.max_logprob_gap."""
    trained_tokens: int = 0
    """Completion tokens learned from, as often as they were."""
    padding_fraction: float = math.nan
    """Share of the positions that went through the model for nothing."""
    dropped_rows: int = 0
    """Trajectories left out because they are too long."""
    truncated_rows: int = 0
    """Trajectories learned from without their end."""

    @property
    def taken(self) -> bool:
        """Whether the batch moved the weights."""
        return self.steps_taken > 0


def nothing(*, dropped: int) -> Step:
    """A batch of which all that might have taught something was dropped."""
    return Step(math.nan, math.nan, math.nan, math.nan, steps_taken=0, dropped_rows=dropped)


def together(outcomes: Sequence[Outcome], config: TrainerConfig, *, dropped: int, truncated: int) -> Step:
    """The optimizer steps of one batch as one: means over tokens are over the tokens of all steps."""
    good = [outcome for outcome in outcomes if outcome.taken]
    told = good or outcomes
    first = outcomes[0].measures

    def total(of: Callable[[Measures], float]) -> float:
        return sum(of(outcome.measures) for outcome in told)

    gap = first.gap / first.compared if first.compared else None
    tokens, positions = total(lambda m: m.tokens), total(lambda m: m.positions)
    return Step(
        loss=total(lambda m: m.loss) / len(told),
        ratio_mean=total(lambda m: m.ratio) / tokens,
        clip_fraction=total(lambda m: m.clipped) / tokens,
        grad_norm=sum(outcome.grad_norm for outcome in told) / len(told),
        steps_taken=len(good),
        bad_steps=len(outcomes) - len(good),
        ratio_max=max(outcome.measures.ratio_max for outcome in told),
        entropy=total(lambda m: m.entropy) / tokens,
        kl=total(lambda m: m.kl) / tokens if config.kl_coef else None,
        logprob_gap_mean=gap,
        logprob_gap_max=None if gap is None else first.gap_max,
        logprob_gap_alarm=gap is not None and not gap <= config.max_logprob_gap,  # no number is too wide
        trained_tokens=int(tokens) if good else 0,
        padding_fraction=1 - sum(outcome.filled for outcome in told) / positions,
        dropped_rows=dropped,
        truncated_rows=truncated,
    )
