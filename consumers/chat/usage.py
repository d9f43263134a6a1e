"""What asking a language model cost."""

from dataclasses import dataclass


@dataclass
class Usage:
    """What one call of an agent cost, all of its requests together."""

    model: str | None = None
    """Under which name the endpoint knows it that was asked last."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the endpoint's prices; 0 where none are given."""
    kept_seconds: float | None = None
    """What its requests took when they were first made, where replies are kept (kept.py)."""

    def count(self, prompt: int, completion: int, *, input_price: float, output_price: float) -> None:
        """Add a request's tokens, at prices of a million."""
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cost += (prompt * input_price + completion * output_price) / 1e6
