"""What a mentor did with one collapsed group: every agent call and the outcome."""

from enum import Enum
from typing import ClassVar

from schemas.query import Hint
from schemas.record import Count, Part, Record


class Outcome(Enum):
    """How a case ended."""

    HINT = "hint"
    """A validated hint was published."""
    FALLBACK = "fallback"
    """Validation kept failing: the safe fallback was published."""
    SILENT = "silent"
    """The guide gave no hint, on purpose or after failing."""
    STALE = "stale"
    """The policy that failed is older than max_case_age."""
    EXHAUSTED = "exhausted"
    """The question collapsed again after max_rounds lessons."""
    SUPERSEDED = "superseded"
    """A newer case of the same question came before this one's turn."""
    SHED = "shed"
    """More cases waited than max_backlog allows, and this was the oldest."""


class AgentCall(Part, frozen=True, kw_only=True):
    """One call of one agent."""

    agent: str
    """attribution, generation, judgment, repair, critique, ranking, leak_guard or budget."""
    draft: Count
    """Which fresh draft of the case this belongs to, from 0."""
    refinement: Count
    """Which Judgment-Repair round of that draft, from 0."""
    result: str
    """What the agent said, as text."""
    passed: bool | None = None
    """Of judgment, leak guard and budget: whether the draft passed."""
    error: str | None = None
    model: str | None = None
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost: float = 0.0
    """In the currency of the endpoint's prices."""
    seconds: float = 0.0


class Diagnosis(Record, frozen=True, kw_only=True):
    """The history of one case. `guided_query_id` names the lesson when one was published."""

    VERSION: ClassVar[int] = 2
    """1 had no cost, and no case was superseded or shed."""

    group_id: str
    query_id: str
    guide: str
    round: Count
    outcome: Outcome
    reason: str
    hint: Hint | None = None
    guided_query_id: str | None = None
    calls: tuple[AgentCall, ...] = ()
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost: float = 0.0
    seconds: float = 0.0
    policy_version: Count
    """Oldest policy version in the collapsed group."""
