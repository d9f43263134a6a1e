"""What a guide (a mentor policy) is: one collapsed group in, a lesson or silence out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import schemas


async def _unguarded(_: str) -> str | None:
    return None


@dataclass(frozen=True)
class Case:
    """A collapsed group as a guide sees it."""

    group: schemas.Group
    round: int
    """1 for the first lesson on the question."""
    earlier: tuple[str, ...]
    """Hints of earlier rounds that did not help."""
    fits: Callable[[str], bool]
    """Whether a hint of this text keeps the prompt within its budget."""
    leak: Callable[[str], Awaitable[str | None]] = _unguarded
    """What in a hint gives the answer away, or None. The mentor's leak guard, for a guide that can try
    again; whatever a guide returns is guarded once more before it is published."""

    @property
    def query(self) -> schemas.Query:
        """The question that nobody answered."""
        return self.group.query


@dataclass(frozen=True)
class Lesson:
    """What a guide made of a case. `hint` is None exactly when the outcome is silent."""

    outcome: schemas.Outcome
    """hint, fallback or silent."""
    reason: str
    hint: str | None = None
    calls: tuple[schemas.AgentCall, ...] = ()


class Guide(Protocol):
    """A mentor policy. A plugin (mentor_stream/plugins.py): `Config`, and `build(config) -> Guide`.

    `build` returns None for a policy that teaches nothing. A plugin may also offer `check(config)`:
    problems that validation of single settings cannot see, as texts.
    """

    @property
    def name(self) -> str:
        """Identifies the policy in hint and query ids: same name, same lessons' ids."""
        ...

    async def teach(self, case: Case) -> Lesson:
        """Work out a lesson. Many cases run at once. Trouble of an endpoint ends in a lesson (fallback
        or silent), not in an exception."""
        ...


@runtime_checkable
class Spender(Protocol):
    """What a guide, or whoever plays its agents, may offer if its spending over the run is bounded."""

    @property
    def bounded(self) -> bool:
        """Whether it wants to know what was spent before."""
        ...

    def spent_before(self, tokens: int) -> None:
        """Tokens that the run's diagnoses have of this guide, told before the first case."""
        ...
