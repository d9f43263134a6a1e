"""Whether a hint leaves the prompt short enough: the rollout worker's rule, its tokens counted ahead."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mentor_stream.config import Config
from mentor_stream.prompts import PromptConfig, user_text
from mentor_stream.sampling import LengthLimits, RolloutConfig, context_length
from schemas import Group

SLACK = 2
"""Tokens by which a chat template may change at the edges of the text that is put into it."""

CHARACTERS_PER_TOKEN = 3
"""For want of a tokenizer: fewer than in any language with an alphabet, so that estimates are too long."""

Count = Callable[[str], int]


@dataclass(frozen=True)
class Budget:
    """The length limits of prompts. What a chat template adds is known from the prompt that was sampled."""

    prompt: PromptConfig
    limits: LengthLimits
    count: Count

    def fits(self, group: Group, hint: str) -> bool:
        """Whether a rollout worker would sample the group's question with this hint."""
        asked = group.query
        sampled = len(group.trajectories[0].prompt_ids)
        before = self.count(user_text(self.prompt, asked.question, asked.hint.text if asked.hint else None))
        after = self.count(user_text(self.prompt, asked.question, hint))
        return self.limits.refusal(sampled + after - before + SLACK) is None


def budget(config: Config) -> Budget:
    """The rollout workers' limits; the model's context is known where the policy's files are."""
    prompt, policy = config.of(PromptConfig), config.run.policy
    limits = LengthLimits(
        prompt=prompt.max_prompt_tokens,
        completion=config.of(RolloutConfig).max_new_tokens,
        context=context_length(policy) if (policy / "config.json").is_file() else None,
    )
    return Budget(prompt, limits, counter(policy))


def counter(policy: Path) -> Count:
    """Counts tokens with the policy's own tokenizer.json; estimates from the characters without one."""
    file = policy / "tokenizer.json"
    if not file.is_file():
        return lambda text: -(-len(text) // CHARACTERS_PER_TOKEN)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
