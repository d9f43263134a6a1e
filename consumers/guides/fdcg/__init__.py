"""Failure-driven contextual guidance (MENTOR, arXiv 2610.13594): guide `kind = "fdcg"`.

Read pipeline.py first: it is the paper's algorithm; drafting.py is where its drafts come from. agents/ holds
who plays the four agents.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import Field, field_validator, model_validator

from consumers.drafts import UNSEEN
from consumers.guides.fdcg.agents.base import SETTING
from consumers.guides.fdcg.pipeline import Bounds, Fdcg, Switches
from mentor_stream import plugins
from mentor_stream.config import Section

AGENTS = "consumers.guides.fdcg.agents"
SAFE_HINT = (
    "Read the question again slowly. Write down what is given and what is asked, work in small steps, "
    "and check every step before you take the next."
)


class Config(Section):
    """Options of the guide."""

    name: str = Field("fdcg", min_length=1)
    """Identifies this mentor policy in the ids of its lessons: change it with the prompts or the model."""
    agents: dict[str, Any] = Field(default_factory=lambda: {"kind": "llm"})
    """Who plays the agents: `kind` and its options."""
    max_refine: int = Field(2, ge=0)
    """Judgment-Repair rounds for one draft before it is thrown away."""
    max_retry: int = Field(2, ge=0)
    """Fresh drafts after the first before the safe fallback."""
    n_drafts: int = Field(1, ge=1, le=16)
    """Drafts written at once: Judgment puts them in order, and the first that stands is the hint."""
    fallback: str = SAFE_HINT
    """The safe fallback, a hint that fits any question; empty for none."""
    attribution: bool = True
    """Ablation: off, drafts are written without a diagnosis."""
    generation: bool = True
    """Ablation: off, the diagnostic keywords are the hint."""
    judgment: bool = True
    """Ablation: off, drafts are neither judged nor repaired."""

    @field_validator("fallback")
    @classmethod
    def _a_text(cls, hint: str) -> str:
        if UNSEEN.search(hint) or (hint and not hint.strip()):
            raise ValueError('expected a text without control characters, or "" for no fallback')
        return hint

    @model_validator(mode="after")
    def _something_to_draft_from(self) -> "Config":
        if not (self.attribution or self.generation):
            raise ValueError("attribution and generation cannot both be off: nothing is left to make a hint")
        if self.n_drafts > 1 and not (self.generation and self.judgment):
            raise ValueError(
                "n_drafts above 1 needs generation, which writes them, and judgment, which ranks"
            )
        return self


def build(config: Config) -> Fdcg:
    """The guide, with its agents. Raises ConfigError."""
    return Fdcg(
        name=config.name,
        agents=plugins.build(AGENTS, config.agents, SETTING),
        fallback=config.fallback,
        bounds=Bounds(config.max_refine, config.max_retry, config.n_drafts),
        switches=Switches(
            attribution=config.attribution, generation=config.generation, judgment=config.judgment
        ),
    )


def check(config: Config) -> Iterable[str]:
    """Problems of the agents."""
    return plugins.check(AGENTS, config.agents, SETTING)
