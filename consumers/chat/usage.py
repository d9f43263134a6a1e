"""What asking a language model cost."""

from dataclasses import dataclass


@dataclass
class Usage:
    """What one call of an agent cost, all of its requests together."""

    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the endpoint's prices; 0 where none are given."""
