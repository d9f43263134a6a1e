"""What happened in one case, call by call: the diagnosis that is published and replayed."""

import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from consumers.chat import Usage
from consumers.guides.fdcg.agents.base import AgentError
from schemas import AgentCall


class _Answer(Protocol):
    @property
    def usage(self) -> Usage: ...


A = TypeVar("A", bound=_Answer)


class Calls:
    """The calls of one case in order; `draft` and `refinement` say where the case stands."""

    def __init__(self) -> None:
        self.made: list[AgentCall] = []
        self.draft = self.refinement = 0

    async def ask(
        self,
        agent: str,
        answer: Awaitable[A],
        text: Callable[[A], str],
        passed: Callable[[A], bool] | None = None,
    ) -> A:
        """Wait for an agent's answer and keep it with its cost, or its error, which is raised on."""
        began = time.perf_counter()
        try:
            said = await answer
        except AgentError as error:
            self._keep(agent, "", error.usage, time.perf_counter() - began, error=str(error))
            raise AgentError(f"{agent} failed: {error}", error.usage) from error
        verdict = None if passed is None else passed(said)
        self._keep(agent, text(said), said.usage, time.perf_counter() - began, passed=verdict)
        return said

    async def check(self, agent: str, objection: Awaitable[str | None]) -> str | None:
        """Wait for a deterministic check and keep what it objects to; None when it passes."""
        began = time.perf_counter()
        found = await objection
        self._keep(agent, found or "", Usage(), time.perf_counter() - began, passed=found is None)
        return found

    def _keep(
        self,
        agent: str,
        result: str,
        usage: Usage,
        seconds: float,
        passed: bool | None = None,
        error: str | None = None,
    ) -> None:
        call = AgentCall(
            agent=agent,
            draft=self.draft,
            refinement=self.refinement,
            result=result,
            passed=passed,
            error=error,
            model=usage.model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost=usage.cost,
            seconds=seconds,
        )
        self.made.append(call)
