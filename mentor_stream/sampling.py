"""What is sampled of each query and how long it may get: section [rollout].

Rollout workers, the evaluator and the mentor's length check must agree on it, so it lives here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from pydantic import Field, field_validator

from mentor_stream.config import Config, ConfigError, Section
from mentor_stream.prompts import PromptConfig
from schemas import Sampling


class RolloutConfig(Section):
    """Section [rollout]."""

    table: ClassVar[str] = "rollout"

    engine: dict[str, Any] = Field(default_factory=lambda: {"kind": "transformers"})
    """What samples: `kind` and its options."""
    group_size: int = 8
    """Completions of each query."""
    temperature: float = Field(1.0, gt=0)
    """Always over the whole vocabulary: the trainer could not recompute log-probs of a truncated one."""
    max_new_tokens: int = Field(512, ge=1)
    """Longest completion."""
    batch_queries: int = Field(32, ge=1)
    """Queries sampled at once, when so many are waiting."""

    @field_validator("group_size")
    @classmethod
    def _compares(cls, size: int) -> int:
        if size < 2:
            raise ValueError(
                "a group needs at least 2 trajectories to compare. Set rollout.group_size to 2 or more"
            )
        return size

    @property
    def sampling(self) -> Sampling:
        """The distribution to sample from."""
        return Sampling(temperature=self.temperature)


@dataclass(frozen=True, slots=True)
class LengthLimits:
    """How long prompts and completions may get. `context` is None where no bound of the model is known."""

    prompt: int
    completion: int
    context: int | None

    def refusal(self, prompt_tokens: int) -> str | None:
        """Why a prompt of this length is not sampled, or None when it is."""
        if prompt_tokens == 0:
            return "the prompt is empty"
        if prompt_tokens > self.prompt:
            return f"the prompt has {prompt_tokens} tokens, prompt.max_prompt_tokens is {self.prompt}"
        if self.context is not None and prompt_tokens + self.completion > self.context:
            return (
                f"{prompt_tokens} prompt tokens and up to {self.completion} more exceed the model's "
                f"{self.context} positions"
            )
        return None


def length_limits(config: Config) -> LengthLimits:
    """Those of rollout workers. Raises ConfigError when run.policy is no model's directory."""
    return LengthLimits(
        prompt=config.of(PromptConfig).max_prompt_tokens,
        completion=config.of(RolloutConfig).max_new_tokens,
        context=context_length(config.run.policy),
    )


def missing_model(setting: str, place: Path) -> str | None:
    """That no model is where a setting says, in the same words whoever finds it; None where one may be."""
    if not place.is_dir():
        what = "not a directory" if place.exists() else "no such directory"
    elif not (place / "config.json").exists():
        what = "it holds no config.json"
    else:
        return None
    return f"{setting} is {str(place)!r}: {what}. Give a Hugging Face model's directory."


def context_length(policy: Path) -> int | None:
    """Tokens of prompt and completion together that the model has positions for; None when it names none."""
    if why := missing_model("run.policy", policy):
        raise ConfigError(why)
    try:
        config = json.loads((policy / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"run.policy is {str(policy)!r}: {error}. Give a Hugging Face model's directory."
        ) from error
    if not isinstance(config, dict):
        raise ConfigError(f"run.policy is {str(policy)!r}: its config.json holds no object with settings.")
    whole = cast("dict[str, Any]", config)
    inner: dict[str, Any] = whole["text_config"] if isinstance(whole.get("text_config"), dict) else {}
    found = [
        p[name] for p in (whole, inner) for name in ("max_position_embeddings", "n_positions") if p.get(name)
    ]
    return found[0] if found else None
