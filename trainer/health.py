"""Whether training still gets anywhere: steps that could not be taken, samplers that are not the policy."""

import logging

from trainer.config import TrainerConfig
from trainer.learning.steps import Step

log = logging.getLogger(__name__)


_WAY_OUT = "Lower trainer.lr, or go back to an earlier checkpoint."


class TrainingFailed(Exception):
    """Going on makes no sense; the text says why and what may help."""


class Health:
    """Looks at every step; trainer.max_bad_steps in a row may be bad ones."""

    def __init__(self, config: TrainerConfig) -> None:
        self._config = config
        self.bad_batches = 0
        """The last ones, in a row, of which no step could be taken: what a checkpoint must hold of it."""

    def check(self, version: int, step: Step | None) -> None:
        """Take note of the step that led to `version`. Raises TrainingFailed after too many bad ones.

        A batch is bad when some of its optimizer steps failed and none was taken; one without anything to
        learn from is neither good nor bad. A wide gap to the sampler is a warning: it is no proof of a fault.
        """
        if step is None:
            return
        self._warn(version, step)
        if step.bad_steps and not step.taken:
            self.bad_batches += 1
        elif step.taken:
            self.bad_batches = 0
        if self.bad_batches > self._config.max_bad_steps:
            raise TrainingFailed(
                f"{self.bad_batches} batches in a row had a loss or a gradient that is not finite "
                f"(trainer.max_bad_steps is {self._config.max_bad_steps}). {_WAY_OUT}"
            )

    def conclude(self, version: int) -> None:
        """Take note that the run ends with this version. Raises TrainingFailed when its last batch was bad:
        the policy is then none that one would call trained, though the run was too short to find out.
        """
        if self.bad_batches:
            raise TrainingFailed(
                f"the run is over, but version {version} is no trained policy: the last {self.bad_batches} "
                f"batches had a loss or a gradient that is not finite. {_WAY_OUT}"
            )

    def _warn(self, version: int, step: Step) -> None:
        if step.bad_steps:
            log.warning(
                "batch %d: loss %g, gradient %g: %s",
                version,
                step.loss,
                step.grad_norm,
                f"{step.bad_steps} of {step.steps_taken + step.bad_steps} steps not taken"
                if step.taken
                else "no step taken",
            )
        if step.dropped_rows and not (step.taken or step.bad_steps):
            log.warning(
                "batch %d: no step: all %d trajectories to learn from are longer than "
                "trainer.max_tokens_per_microbatch = %d, and trainer.long_rows is %r. Raise the one, or set "
                "the other to 'alone'.",
                version,
                step.dropped_rows,
                self._config.max_tokens_per_microbatch,
                self._config.long_rows,
            )
        if step.logprob_gap_alarm:
            log.warning(
                "batch %d: the sampler's log-probs are %.3f from the trainer's on average, %.3f at most "
                "(trainer.max_logprob_gap is %s). Either the policy moves fast (lower trainer.lr or "
                "run.max_staleness), or the sampler computes something else: another snapshot than it says, "
                "another temperature, logits cut by top-p or penalties, other kernels or a lower precision. "
                "trainer.old_logprobs = 'recompute' with importance_cap = 2 corrects small gaps.",
                version,
                step.logprob_gap_mean,
                step.logprob_gap_max,
                self._config.max_logprob_gap,
            )
