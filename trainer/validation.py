"""Whether a group can be learned from at all: a record may be well formed and still not fit this run."""

import numpy as np

from mentor_stream.config import ConfigError
from schemas import Group, InvalidRecord, Origin, Trajectory


def validate(group: Group, *, vocabulary: int, drop_hints: bool) -> None:
    """Raise InvalidRecord for a group that would break or poison the loss.

    Raises ConfigError where the run's sampling as such cannot be trained on: its log-probs are those of a
    distribution that the trainer does not recompute.
    """
    _check_sampling(group)
    bare = group.bare_prompt_ids
    if drop_hints and group.query.origin is Origin.GUIDED and not bare:
        raise _invalid("bare_prompt_ids", "a guided group without the bare prompt, and hint_context is drop")
    if bare and not _within(bare.numpy(), vocabulary):
        raise _invalid("bare_prompt_ids", f"token ids outside the vocabulary of {vocabulary}")
    for row, trajectory in enumerate(group.trajectories):
        # Rows that nobody judged never reach the loss: a refused query's are empty, and rightly so.
        if trajectory.reward is not None and (defect := _defect(trajectory, vocabulary)):
            raise _invalid(f"trajectories[{row}]", defect)


def _check_sampling(group: Group) -> None:
    sampling = group.sampling
    if sampling.temperature <= 0:
        raise ConfigError(
            f"rollout.temperature was {sampling.temperature} for group {group.group_id}: greedy samples have "
            "no log-probs to learn from. Set it above 0."
        )
    if sampling.top_p != 1.0 or sampling.top_k != 0:
        raise ConfigError(
            f"rollout sampled group {group.group_id} with top_p {sampling.top_p} and top_k {sampling.top_k}: "
            "the trainer recomputes log-probs over the whole vocabulary. Set top_p to 1.0 and top_k to 0."
        )


def _defect(trajectory: Trajectory, vocabulary: int) -> str | None:
    if not len(trajectory.prompt_ids):
        return "an empty prompt: nothing predicts the first token"
    ids = np.concatenate([trajectory.prompt_ids.numpy(), trajectory.completion_ids.numpy()])
    if not _within(ids, vocabulary):
        return f"token ids outside the vocabulary of {vocabulary}"
    if not np.isfinite(trajectory.logprobs.numpy()).all():
        return "log-probs that are not finite"
    return None


def _within(ids: np.ndarray, vocabulary: int) -> bool:
    return bool(((ids >= 0) & (ids < vocabulary)).all())


def _invalid(field: str, reason: str) -> InvalidRecord:
    return InvalidRecord(reason, schema="group", field=field)
