"""G trajectories sampled for one query and scored: what training and mentoring read."""

import math
from enum import Enum

from schemas.array import Array
from schemas.query import Query
from schemas.record import Count, Part, Record


class Verdict(Enum):
    """What the verifier said of one completion."""

    RIGHT = "right"
    WRONG = "wrong"
    UNSCORABLE = "unscorable"
    """The judge itself failed: says nothing about the policy."""
    ABORTED = "aborted"
    """Sampling was cut short from outside."""


class FinishReason(Enum):
    """Why sampling of a completion ended."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


class VersionRun(Part, frozen=True, kw_only=True):
    """`count` consecutive completion tokens sampled by one policy version."""

    policy_version: Count
    count: Count


class Sampling(Part, frozen=True, kw_only=True):
    """The distribution that was really sampled from."""

    temperature: float
    top_p: float = 1.0
    top_k: Count = 0
    """0 keeps the whole vocabulary."""


class Trajectory(Part, frozen=True, kw_only=True):
    """One sampled completion. The token ids are the record: nothing downstream tokenizes text again.

    prompt_ids [prompt] and completion_ids [completion] are int32; logprobs [completion] are float32
    log-probabilities under the sampled distribution, after temperature. The end-of-sequence token is
    part of the completion when it was sampled.
    """

    prompt_ids: Array
    completion_ids: Array
    logprobs: Array
    policy: tuple[VersionRun, ...]
    """Policy versions as run lengths that cover the completion: it may span a weight update."""
    text: str
    reward: float | None
    """None exactly when the verdict is unscorable or aborted."""
    verdict: Verdict
    finish_reason: FinishReason
    remark: str = ""
    """The verifier's words: why wrong, what raised, which test failed."""

    def __post_init__(self) -> None:
        tokens = len(self.completion_ids)
        if (self.prompt_ids.dtype, self.completion_ids.dtype) != ("int32", "int32"):
            raise ValueError("token ids that are not int32")
        if self.logprobs.dtype != "float32" or len(self.logprobs) != tokens:
            raise ValueError(f"{len(self.logprobs)} log-probs for {tokens} tokens")
        if sum(run.count for run in self.policy) != tokens or any(r.count < 1 for r in self.policy):
            raise ValueError(f"policy versions that do not cover the {tokens} tokens")
        judged = self.verdict in (Verdict.RIGHT, Verdict.WRONG)
        if judged != (self.reward is not None):
            raise ValueError(f"verdict {self.verdict.value} with reward {self.reward}")
        if self.reward is not None and not math.isfinite(self.reward):
            raise ValueError(f"reward {self.reward}")


class Group(Record, frozen=True, kw_only=True):
    """The scored trajectories of one query: on `groups`, or on `collapsed` when all were judged wrong."""

    group_id: str
    query: Query
    trajectories: tuple[Trajectory, ...]
    sampling: Sampling
    bare_prompt_ids: Array | None = None
    """Of a guided group: the prompt without the hint, for training under `hint_context = drop`."""
    worker: str
    sampled_at: float
    """Seconds since the epoch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.trajectories:
            raise ValueError("a group without trajectories")

    @property
    def oldest_version(self) -> int:
        """The policy version of the oldest token; of an empty completion, no age at all (2**31)."""
        versions = [r.policy_version for t in self.trajectories for r in t.policy]
        return min(versions, default=2**31)

    @property
    def completion_tokens(self) -> int:
        """Tokens generated for the group."""
        return sum(len(t.completion_ids) for t in self.trajectories)
