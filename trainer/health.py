"""Whether training still gets anywhere: how many steps in a row could not be taken."""

import logging

from trainer.learner import Step

log = logging.getLogger(__name__)


class TrainingFailed(Exception):
    """Going on makes no sense; the text says why and what may help."""


class Health:
    """Looks at every step; `allowed` of them in a row may be bad ones (trainer.max_bad_steps)."""

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._bad_steps = 0

    def check(self, version: int, step: Step | None) -> None:
        """Take note of the step that led to `version`. Raises TrainingFailed after too many bad ones.

        A batch without any advantage is no step, neither a good one nor a bad one.
        """
        if step is None:
            return
        self._bad_steps = 0 if step.taken else self._bad_steps + 1
        if not step.taken:
            log.warning("batch %d: loss %g, gradient %g: no step taken", version, step.loss, step.grad_norm)
        if self._bad_steps > self._allowed:
            raise TrainingFailed(
                f"{self._bad_steps} batches in a row had a loss or a gradient that is not finite "
                f"(trainer.max_bad_steps is {self._allowed}). Lower trainer.lr, or go back to "
                "an earlier checkpoint."
            )
