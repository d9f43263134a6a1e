"""Groups as they go on the stream, made from what was asked, sampled and judged. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import schemas
from producers.engines.base import Sample
from producers.judging.verdicts import Score
from schemas import FinishReason, Group, Query, Sampling, Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the policy is asked it: prompt ids with the hint, and without it when there is one."""

    query: Query
    group_id: str
    prompt_ids: list[int]
    bare_prompt_ids: list[int] | None


def seed(run_seed: int, ids: Sequence[str]) -> int:
    """The sampling seed of a batch, 63 bits: the same groups asked again get the same draws."""
    text = "\x1f".join([str(run_seed), *ids])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def scored(
    asked: Asked,
    samples: Sequence[Sample],
    texts: Sequence[str],
    scores: Sequence[Score],
    sampling: Sampling,
    *,
    worker: str,
    at: float,
) -> Group:
    """The group of a query that was sampled and judged."""
    prompt = schemas.ids(asked.prompt_ids)
    trajectories = [
        Trajectory(
            prompt_ids=prompt,
            completion_ids=schemas.ids(sample.completion_ids),
            logprobs=schemas.floats(sample.logprobs),
            policy=sample.policy,
            text=text,
            reward=score.reward,
            verdict=score.verdict,
            finish_reason=sample.finish_reason,
            remark=score.remark,
        )
        for sample, text, score in zip(samples, texts, scores, strict=True)
    ]
    bare = asked.bare_prompt_ids
    return Group(
        group_id=asked.group_id,
        query=asked.query,
        trajectories=tuple(trajectories),
        sampling=sampling,
        bare_prompt_ids=None if bare is None else schemas.ids(bare),
        worker=worker,
        sampled_at=at,
    )


def refused(asked: Asked, size: int, why: str, sampling: Sampling, *, worker: str, at: float) -> Group:
    """The group of a query that was not sampled: aborted trajectories without any token, saying why.

    It resolves the query for the counters and teaches nothing. The prompt is left out: it may be of any size.
    """
    nothing = Trajectory(
        prompt_ids=schemas.ids([]),
        completion_ids=schemas.ids([]),
        logprobs=schemas.floats([]),
        policy=(),
        text="",
        reward=None,
        verdict=Verdict.ABORTED,
        finish_reason=FinishReason.ABORT,
        remark=f"refused: {why}",
    )
    return Group(
        group_id=asked.group_id,
        query=asked.query,
        trajectories=(nothing,) * size,
        sampling=sampling,
        worker=worker,
        sampled_at=at,
    )
