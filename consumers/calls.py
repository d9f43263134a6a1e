"""What a guide did in one case, call by call: the diagnosis that is published and replayed."""

import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from consumers.chat import Usage
from consumers.guides.base import Case
from schemas import AgentCall


class AgentError(Exception):
    """An agent gave no usable answer (endpoint down, empty or unreadable reply); what trying cost."""

    def __init__(self, reason: str, usage: Usage | None = None) -> None:
        super().__init__(reason)
        self.usage = usage or Usage()


class _Answer(Protocol):
    @property
    def usage(self) -> Usage: ...


A = TypeVar("A", bound=_Answer)

TOO_LONG = "the hint is too long: question and hint exceed the prompt budget"


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

    async def leak(self, case: Case, hint: str) -> str | None:
        """What in a hint gives the answer away, or None."""
        began = time.perf_counter()
        return self._checked("leak_guard", await case.leak(hint), time.perf_counter() - began)

    def excess(self, case: Case, hint: str) -> str | None:
        """That a hint is too long, or None."""
        began = time.perf_counter()
        objection = None if case.fits(hint) else TOO_LONG
        return self._checked("budget", objection, time.perf_counter() - began)

    def _checked(self, agent: str, objection: str | None, seconds: float) -> str | None:
        self._keep(agent, objection or "", Usage(), seconds, passed=objection is None)
        return objection

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
            seconds=seconds if usage.kept_seconds is None else usage.kept_seconds,
        )
        self.made.append(call)
