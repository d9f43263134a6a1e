"""The algorithm: Attribution, Generation, Judgment and Repair until a draft stands; else the safe fallback.

MENTOR (arXiv 2610.13594), failure-driven contextual guidance; the switches are the ablations of its Table 4.
"""

from dataclasses import dataclass

from consumers.calls import AgentError, Calls
from consumers.drafts import no_hint
from consumers.guides.base import Case, Lesson, Spender
from consumers.guides.fdcg.agents.base import Agents, Attribution, Draft, Judgment
from consumers.guides.fdcg.drafting import Drafting
from schemas import Outcome


class Rejected(Exception):
    """A draft that no allowed number of repairs made acceptable; the text is the last objection."""


@dataclass(frozen=True)
class Bounds:
    """How long a case is worked on."""

    max_refine: int
    """Judgment-Repair rounds of one draft: it is judged at most once more than that."""
    max_retry: int
    """Fresh drafts after the first."""
    n_drafts: int = 1
    """Drafts written at once, of which the one ranked first is worked on first."""


@dataclass(frozen=True)
class Switches:
    """Which agents take part."""

    attribution: bool
    generation: bool
    """Off: the diagnostic keywords are the hint, and as they stay the same there is one draft only."""
    judgment: bool
    """Off: drafts are neither judged nor repaired. The leak guard and the budget always stay."""


@dataclass(frozen=True)
class Fdcg:
    """The four agents at work on collapsed groups."""

    name: str
    agents: Agents
    fallback: str
    """The safe hint; empty for silence."""
    bounds: Bounds
    switches: Switches

    @property
    def bounded(self) -> bool:
        """Whether its agents are; see Spender."""
        return isinstance(self.agents, Spender) and self.agents.bounded

    def spent_before(self, tokens: int) -> None:
        """See Spender."""
        if isinstance(self.agents, Spender):
            self.agents.spent_before(tokens)

    async def teach(self, case: Case) -> Lesson:
        """A hint that passed Judgment, leaks nothing and fits; else the safe fallback; else silence."""
        calls, rejected, reason = Calls(), list[str](), ""
        try:
            attribution = await self._attribute(case, calls)
        except AgentError as error:
            return await self._fall_back(case, str(error), calls)
        drafting = Drafting(case, self.agents, attribution, calls, self.bounds.n_drafts)
        for draft in range(self._drafts):
            calls.draft, calls.refinement = draft, 0
            try:
                hint = await drafting.next(rejected) if self.switches.generation else _keywords(attribution)
                hint = await self._refine(case, hint, rejected, calls)
                return Lesson(Outcome.HINT, "validated", hint, tuple(calls.made))
            except (AgentError, Rejected) as error:
                reason = str(error)
        return await self._fall_back(case, reason, calls)

    @property
    def _drafts(self) -> int:
        return 1 + self.bounds.max_retry if self.switches.generation else 1

    @property
    def _repairs(self) -> int:
        return self.bounds.max_refine if self.switches.judgment else 0

    async def _attribute(self, case: Case, calls: Calls) -> Attribution | None:
        if not self.switches.attribution:
            return None
        return await calls.ask("attribution", self.agents.attribute(case), _diagnosis)

    async def _refine(self, case: Case, hint: str, rejected: list[str], calls: Calls) -> str:
        """The draft, repaired until nothing objects to it. Raises Rejected, AgentError."""
        objection = await self._objection(case, hint, calls)
        while objection and calls.refinement < self._repairs:
            rejected.append(hint)
            repair = self.agents.repair(case, hint, objection)
            hint = (await calls.ask("repair", repair, _text)).text
            calls.refinement += 1
            objection = await self._objection(case, hint, calls)
        if objection:
            rejected.append(hint)
            raise Rejected(objection)
        return hint

    async def _objection(self, case: Case, hint: str, calls: Calls) -> str | None:
        """What speaks against a draft: Judgment is asked first, what needs no opinion has the last word."""
        if objection := no_hint(hint, case.query.question):
            return objection
        if self.switches.judgment:
            judgment = await calls.ask("judgment", self.agents.judge(case, hint), _verdict, _passed)
            if not _passed(judgment):
                return _verdict(judgment)
        return await calls.leak(case, hint) or calls.excess(case, hint)

    async def _fall_back(self, case: Case, reason: str, calls: Calls) -> Lesson:
        """The general hint, held to the same checks, unless it was given in an earlier round."""
        calls.draft, calls.refinement = calls.draft + 1, 0
        usable = (
            self.fallback
            and self.fallback not in case.earlier
            and await calls.leak(case, self.fallback) is None
            and calls.excess(case, self.fallback) is None
        )
        if not usable:
            return Lesson(Outcome.SILENT, reason, None, tuple(calls.made))
        return Lesson(Outcome.FALLBACK, reason, self.fallback, tuple(calls.made))


def _diagnosis(attribution: Attribution) -> str:
    """The root cause, each error, then the keywords that neither says already."""
    parts = [attribution.root_cause, *attribution.errors]
    said = "\n".join(parts).casefold()
    keywords = [keyword for keyword in attribution.keywords if keyword.casefold() not in said]
    return "\n".join(filter(None, [*dict.fromkeys(parts), ", ".join(keywords)]))


def _keywords(attribution: Attribution | None) -> str:
    return ", ".join(attribution.keywords) if attribution else ""


def _text(draft: Draft) -> str:
    return draft.text


def _passed(judgment: Judgment) -> bool:
    return judgment.flaw is None


def _verdict(judgment: Judgment) -> str:
    return "pass" if judgment.flaw is None else f"{judgment.flaw.value}: {judgment.critique}"
