"""Scripted agents and cases for tests of the pipeline, without a language model."""

from collections.abc import Awaitable, Callable, Sequence

from consumers.calls import AgentError
from consumers.chat import Usage
from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import Attribution, Draft, Flaw, Judgment, Ranking
from consumers.guides.fdcg.pipeline import Bounds, Fdcg, Switches
from schemas import Group
from tests.builders import a_group, a_query

FALLBACK = "Take your time."


class ScriptedAgents:
    """Says what it is told, the last thing for ever; "!" is a failure. Keeps what it was asked."""

    def __init__(
        self,
        *,
        drafts: Sequence[str] = ("draft",),
        verdicts: str = "P",
        repairs: Sequence[str] = ("repaired",),
        ranking: Sequence[str] = (),
    ) -> None:
        self._ranking = ranking
        self._drafts, self._verdicts, self._repairs = list(drafts), list(verdicts), list(repairs)
        self.asked: list[tuple[str, ...]] = []
        self.attribution_fails = False

    async def attribute(self, case: Case) -> Attribution:
        self.asked.append(("attribute",))
        if self.attribution_fails:
            raise AgentError("endpoint down", Usage("m", 7, 0))
        return Attribution("no carry", ("step 2",), ("carry", "units"), Usage("m", 100, 10))

    async def generate(self, case: Case, attribution: Attribution | None, rejected: Sequence[str]) -> Draft:
        self.asked.append(("generate", *rejected))
        return self._draft(_next(self._drafts))

    async def judge(self, case: Case, draft: str) -> Judgment:
        """P passes, ! fails, any other letter is the first of a flaw."""
        self.asked.append(("judge", draft))
        letter = _next(self._verdicts)
        if letter == "!":
            raise AgentError("unreadable reply")
        flaw = next((f for f in Flaw if f.value[0] == letter.lower()), None)
        return Judgment(flaw, "say less" if flaw else "", Usage("m", 50, 5))

    async def repair(self, case: Case, draft: str, critique: str) -> Draft:
        self.asked.append(("repair", draft, critique))
        return self._draft(_next(self._repairs))

    async def rank(self, case: Case, drafts: Sequence[str]) -> Ranking:
        """As `ranking` has them; nothing to rank by is a failure."""
        self.asked.append(("rank", *sorted(drafts)))
        if not self._ranking:
            raise AgentError("unreadable reply", Usage("m", 9, 1))
        order = sorted(range(len(drafts)), key=lambda place: self._ranking.index(drafts[place]))
        return Ranking(tuple(order), Usage("m", 30, 3))

    def _draft(self, text: str) -> Draft:
        if text == "!":
            raise AgentError("unreadable reply")
        return Draft(text, Usage("m", 20, 2))


def _next(script: list[str]) -> str:
    return script.pop(0) if len(script) > 1 else script[0]


def a_guide(
    agents: ScriptedAgents,
    *,
    fallback: str = FALLBACK,
    max_refine: int = 2,
    max_retry: int = 2,
    n_drafts: int = 1,
    **on: bool,
) -> Fdcg:
    """The pipeline around scripted agents; `judgment=False` and the like switch agents off."""
    switches = {"attribution": True, "generation": True, "judgment": True} | on
    return Fdcg("scripted", agents, fallback, Bounds(max_refine, max_retry, n_drafts), Switches(**switches))


def a_case(
    *,
    fits: Callable[[str], bool] = lambda _: True,
    leaks: Callable[[str], bool] = lambda _: False,
    earlier: tuple[str, ...] = (),
    group: Group | None = None,
) -> Case:
    """A collapsed group; `leaks` says which hints the leak guard refuses."""

    async def leak(hint: str) -> str | None:
        return "leak: 5" if leaks(hint) else None

    guard: Callable[[str], Awaitable[str | None]] = leak
    return Case(group or a_group("WWWW", query=a_query()), len(earlier) + 1, earlier, fits, guard)
