"""The algorithm: Attribution, Generation, Judgment and Repair until a draft stands; else the safe fallback.

MENTOR (arXiv 2610.13594), failure-driven contextual guidance; the switches are the ablations of its Table 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.guides.base import Case, Lesson
from consumers.guides.fdcg.agents.base import AgentError, Agents, Attribution, Draft, Judgment
from consumers.guides.fdcg.drafts import no_hint
from consumers.guides.fdcg.history import History
from schemas import Outcome


class Rejected(Exception):
    """A draft that no allowed number of repairs made acceptable; the text is the last objection."""


@dataclass(frozen=True)
class Bounds:
    """How long a case is worked on."""

    max_refine: int = 2
    """Judgment-Repair rounds of one draft: it is judged at most once more than that."""
    max_retry: int = 2
    """Fresh drafts after the first."""


@dataclass(frozen=True)
class Switches:
    """Which agents take part."""

    attribution: bool = True
    generation: bool = True
    """Off: the diagnostic keywords are the hint, and as they stay the same there is one draft only."""
    judgment: bool = True
    """Off: drafts are neither judged nor repaired. The leak guard and the budget always stay."""


@dataclass(frozen=True)
class Fdcg:
    """The four agents at work on collapsed groups."""

    name: str
    agents: Agents
    fallback: str
    """The safe hint; empty for silence."""
    bounds: Bounds = Bounds()
    switches: Switches = Switches()

    async def teach(self, case: Case) -> Lesson:
        """A hint that passed Judgment, leaks nothing and fits; else the safe fallback; else silence."""
        history, rejected, reason = History(), list[str](), ""
        try:
            attribution = await self._attribute(case, history)
        except AgentError as error:
            return await self._fall_back(case, str(error), history)
        for draft in range(self._drafts):
            history.draft, history.refinement = draft, 0
            try:
                hint = await self._draft(case, attribution, rejected, history)
                hint = await self._refine(case, hint, rejected, history)
                return Lesson(Outcome.HINT, "validated", hint, tuple(history.calls))
            except (AgentError, Rejected) as error:
                reason = str(error)
        return await self._fall_back(case, reason, history)

    @property
    def _drafts(self) -> int:
        return 1 + self.bounds.max_retry if self.switches.generation else 1

    @property
    def _repairs(self) -> int:
        return self.bounds.max_refine if self.switches.judgment else 0

    async def _attribute(self, case: Case, history: History) -> Attribution | None:
        if not self.switches.attribution:
            return None
        return await history.call("attribution", self.agents.attribute(case), _diagnosis)

    async def _draft(
        self, case: Case, attribution: Attribution | None, rejected: Sequence[str], history: History
    ) -> str:
        if not self.switches.generation:
            return ", ".join(attribution.keywords) if attribution else ""
        answer = self.agents.generate(case, attribution, tuple(rejected))
        return (await history.call("generation", answer, _text)).text

    async def _refine(self, case: Case, hint: str, rejected: list[str], history: History) -> str:
        """The draft, repaired until nothing objects to it. Raises Rejected, AgentError."""
        objection = await self._objection(case, hint, history)
        while objection and history.refinement < self._repairs:
            rejected.append(hint)
            repair = self.agents.repair(case, hint, objection)
            hint = (await history.call("repair", repair, _text)).text
            history.refinement += 1
            objection = await self._objection(case, hint, history)
        if objection:
            rejected.append(hint)
            raise Rejected(objection)
        return hint

    async def _objection(self, case: Case, hint: str, history: History) -> str | None:
        """What speaks against a draft: Judgment is asked first, what needs no opinion has the last word."""
        if not hint.strip():
            return "the hint is empty"
        if objection := no_hint(hint):
            return objection
        if self.switches.judgment:
            judgment = await history.call("judgment", self.agents.judge(case, hint), _verdict, _passed)
            if not _passed(judgment):
                return _verdict(judgment)
        return await self._leak(case, hint, history) or await self._excess(case, hint, history)

    async def _fall_back(self, case: Case, reason: str, history: History) -> Lesson:
        """The general hint, held to the same checks, unless it was given in an earlier round."""
        history.draft, history.refinement = history.draft + 1, 0
        usable = (
            self.fallback
            and self.fallback not in case.earlier
            and await self._leak(case, self.fallback, history) is None
            and await self._excess(case, self.fallback, history) is None
        )
        calls = tuple(history.calls)
        if not usable:
            return Lesson(Outcome.SILENT, reason, None, calls)
        return Lesson(Outcome.FALLBACK, reason, self.fallback, calls)

    async def _leak(self, case: Case, hint: str, history: History) -> str | None:
        return await history.check("leak_guard", case.leak(hint))

    async def _excess(self, case: Case, hint: str, history: History) -> str | None:
        async def too_long() -> str | None:
            return (
                None
                if case.fits(hint)
                else "the hint is too long: question and hint exceed the prompt budget"
            )

        return await history.check("budget", too_long())


def _diagnosis(attribution: Attribution) -> str:
    parts = [attribution.root_cause, *attribution.errors, ", ".join(attribution.keywords)]
    return "\n".join(filter(None, parts))


def _text(draft: Draft) -> str:
    return draft.text


def _passed(judgment: Judgment) -> bool:
    return judgment.flaw is None


def _verdict(judgment: Judgment) -> str:
    return "pass" if judgment.flaw is None else f"{judgment.flaw.value}: {judgment.critique}"
