"""What a run does, in the numbers that decide how large it must be."""

from dataclasses import dataclass

ID_AND_LOGPROB_BYTES = 8
TEXT_BYTES = 4
"""Of a token, about."""


@dataclass(frozen=True)
class Workload:
    """Rates are completion tokens a second; shares are in (0, 1]."""

    group_size: int
    batch_groups: int
    trained_rate: float
    """Of the trainer, all its ranks together."""
    sampled_rate: float
    """Of one rollout worker."""
    completion_tokens: float
    """Of a completion, on average."""
    prompt_tokens: float
    teaching: float
    """Share of the sampled groups that a batch takes: neither all wrong nor all right."""
    collapsed: float
    """Share of the sampled groups that are all wrong."""
    group_seconds: float
    """From a query's turn in a rollout worker to its scored group."""
    case_seconds: float
    """That a mentor works on one collapsed group."""
    concurrency: int
    """Cases that one mentor works on at once."""

    @property
    def trained_groups(self) -> float:
        """Groups a second that the trainer learns from."""
        return self.trained_rate / (self.group_size * self.completion_tokens)

    @property
    def sampled_groups(self) -> float:
        """Groups a second that must be sampled for that."""
        return self.trained_groups / self.teaching

    @property
    def step_seconds(self) -> float:
        """From one policy version to the next."""
        return self.batch_groups / self.trained_groups

    @property
    def collapsed_groups(self) -> float:
        """Groups a second for mentors."""
        return self.sampled_groups * self.collapsed

    @property
    def group_bytes(self) -> float:
        """Of one group on the stream: ids, log-probs and text of every completion, the prompt of each."""
        completion = self.completion_tokens * (ID_AND_LOGPROB_BYTES + TEXT_BYTES)
        prompt = self.prompt_tokens * ID_AND_LOGPROB_BYTES / 2
        return self.group_size * (completion + prompt) + self.prompt_tokens * TEXT_BYTES
