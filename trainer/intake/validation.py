"""Whether a group can be learned from at all: a record may be well formed and still not fit this run."""

import numpy as np

from schemas import Group, InvalidRecord, Origin, Trajectory

TEMPERATURES = (1e-3, 1e3)
"""Outside of these, logits divided by the temperature are no numbers to compute with."""
LOWEST_LOGPROB = -1e4
"""Nothing less likely is ever sampled."""
LARGEST_REWARD = 1e6
"""Beyond it losses are no numbers any more, or advantages vanish: the square of a reward is taken."""
ROUNDING = 1e-3
"""A certain token's log-prob may come out this much above 0."""


def validate(group: Group, *, vocabulary: int, positions: int, drop_hints: bool) -> None:
    """Raise InvalidRecord for a group that would break or poison the loss of a model of that size."""
    _check_sampling(group)
    bare = group.bare_prompt_ids
    if drop_hints and group.query.origin is Origin.GUIDED and not bare:
        raise _invalid("bare_prompt_ids", "a guided group without the bare prompt, and hint_context is drop")
    if bare and not _within(bare.numpy(), vocabulary):
        raise _invalid("bare_prompt_ids", f"token ids outside the vocabulary of {vocabulary}")
    for row, trajectory in enumerate(group.trajectories):
        # Rows that nobody judged never reach the loss: a refused query's are empty, and rightly so.
        if trajectory.reward is not None and (defect := _defect(trajectory, vocabulary, positions)):
            raise _invalid(f"trajectories[{row}]", defect)


def _check_sampling(group: Group) -> None:
    sampling = group.sampling
    if not TEMPERATURES[0] <= sampling.temperature <= TEMPERATURES[1]:  # not a number fails, too
        raise _invalid("sampling.temperature", f"{sampling.temperature} is outside {TEMPERATURES}")
    if sampling.top_p != 1.0 or sampling.top_k != 0:
        raise _invalid(
            "sampling",
            f"top_p {sampling.top_p} and top_k {sampling.top_k}: log-probs are recomputed over the whole "
            "vocabulary, so it must be sampled whole",
        )


def _defect(trajectory: Trajectory, vocabulary: int, positions: int) -> str | None:
    if not len(trajectory.prompt_ids):
        return "an empty prompt: nothing predicts the first token"
    ids = np.concatenate([trajectory.prompt_ids.numpy(), trajectory.completion_ids.numpy()])
    if not _within(ids, vocabulary):
        return f"token ids outside the vocabulary of {vocabulary}"
    if len(ids) > positions:
        return f"{len(ids)} tokens of prompt and completion, and the model has {positions} positions"
    if abs(trajectory.reward or 0.0) > LARGEST_REWARD:
        return f"reward {trajectory.reward:g} is outside of {LARGEST_REWARD:g} on either side"
    logprobs = trajectory.logprobs.numpy()
    if not ((logprobs >= LOWEST_LOGPROB) & (logprobs <= ROUNDING)).all():  # not a number fails, too
        return f"log-probs that are no logarithms of probabilities (finite, from {LOWEST_LOGPROB:g} to 0)"
    return None


def _within(ids: np.ndarray, vocabulary: int) -> bool:
    return bool(((ids >= 0) & (ids < vocabulary)).all())


def _invalid(field: str, reason: str) -> InvalidRecord:
    return InvalidRecord(reason, schema="group", field=field)
