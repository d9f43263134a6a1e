"""The four agents of failure-driven contextual guidance, as the pipeline sees them.

MENTOR (arXiv 2610.13594): Attribution reads the failures, Generation drafts a hint, Judgment passes or
criticises it, Repair writes a new draft from the critique. Ranking, which puts several drafts in order, is
asked only where a guide drafts more than one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from consumers.calls import AgentError
from consumers.chat import Usage
from consumers.guides.base import Case

__all__ = ["SETTING", "AgentError", "Agents", "Attribution", "Draft", "Flaw", "Judgment", "Ranking"]

SETTING = "mentor.guide.agents"
"""Where a config says who plays them."""


@dataclass(frozen=True)
class Attribution:
    """Why the trajectories failed."""

    root_cause: str
    errors: tuple[str, ...] = ()
    """Errors that recur across the trajectories."""
    keywords: tuple[str, ...] = ()
    """Diagnostic keywords: the hint itself when Generation is switched off."""
    usage: Usage = field(default_factory=Usage, compare=False)


@dataclass(frozen=True)
class Draft:
    """A hint that nobody has judged yet."""

    text: str
    usage: Usage = field(default_factory=Usage, compare=False)


class Flaw(Enum):
    """What is wrong with a draft."""

    LEAK = "leak"
    WRONG = "wrong"
    IRRELEVANT = "irrelevant"
    VAGUE = "vague"


@dataclass(frozen=True)
class Judgment:
    """Pass (no flaw), or a critique to repair from."""

    flaw: Flaw | None
    critique: str = ""
    usage: Usage = field(default_factory=Usage, compare=False)


@dataclass(frozen=True)
class Ranking:
    """Drafts in order of promise."""

    order: tuple[int, ...]
    """Each draft's place in what was given, from 0, the best first: a permutation."""
    usage: Usage = field(default_factory=Usage, compare=False)


class Agents(Protocol):
    """All of them. A plugin: `Config`, `build(config) -> Agents`. Each raises AgentError."""

    async def attribute(self, case: Case) -> Attribution:
        """Why did all of these fail?"""
        ...

    async def generate(self, case: Case, attribution: Attribution | None, rejected: Sequence[str]) -> Draft:
        """A fresh draft, unlike the rejected ones; without attribution when that agent is switched off."""
        ...

    async def judge(self, case: Case, draft: str) -> Judgment:
        """Is the draft right, to the point, concrete, and silent about the answer?"""
        ...

    async def repair(self, case: Case, draft: str, critique: str) -> Draft:
        """A new draft that answers the critique."""
        ...

    async def rank(self, case: Case, drafts: Sequence[str]) -> Ranking:
        """Which of these drafts, at least two, would help most? Nobody has judged them yet."""
        ...
