"""What a guide went through for one case, counted from its calls. No I/O."""

from collections.abc import Sequence
from typing import NamedTuple

from schemas import AgentCall


class Effort(NamedTuple):
    """Of one case."""

    refined: int
    """Judgment-Repair rounds."""
    redrafted: int
    """Fresh drafts after the first."""
    leaks: int
    """Drafts that the leak guard refused."""


def effort(calls: Sequence[AgentCall]) -> Effort:
    """What the calls of a diagnosis tell."""
    return Effort(
        refined=max((call.refinement for call in calls), default=0),
        redrafted=max((call.draft for call in calls), default=0),
        leaks=sum(call.agent == "leak_guard" and call.passed is False for call in calls),
    )
