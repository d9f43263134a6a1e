"""Whether a hint leaves the prompt within its length, counted as the rollout's tokenizer counts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mentor_stream.prompts import PromptConfig, user_text
from schemas import Group

SLACK = 2
"""Tokens by which a chat template may change at the edges of the text that is put into it."""

CHARACTERS_PER_TOKEN = 3
"""For want of a tokenizer: fewer than in any language with an alphabet, so that estimates are too long."""

Count = Callable[[str], int]


@dataclass(frozen=True)
class Budget:
    """The length limit of prompts. What a chat template adds is known from the prompt that was sampled."""

    prompt: PromptConfig
    count: Count

    def fits(self, group: Group, hint: str) -> bool:
        """Whether the group's question with this hint keeps to `prompt.max_prompt_tokens`."""
        asked = group.query
        sampled = len(group.trajectories[0].prompt_ids)
        before = self.count(user_text(self.prompt, asked.question, asked.hint.text if asked.hint else None))
        after = self.count(user_text(self.prompt, asked.question, hint))
        return sampled + after - before + SLACK <= self.prompt.max_prompt_tokens


def counter(policy: Path) -> Count:
    """Counts tokens with the policy's own tokenizer.json; estimates from the characters without one."""
    file = policy / "tokenizer.json"
    if not file.is_file():
        return lambda text: -(-len(text) // CHARACTERS_PER_TOKEN)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
