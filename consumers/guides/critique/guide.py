"""The algorithm: the typical attempt, a critique of it, and as much of the attempt as may be shown."""

from dataclasses import dataclass

from consumers import evidence
from consumers.calls import AgentError, Calls
from consumers.drafts import no_hint
from consumers.guides.base import Case, Lesson
from consumers.guides.critique.critic import Critic, Rejected, Remarks
from consumers.guides.critique.lesson import forms
from schemas import Outcome


class Unusable(Exception):
    """A critique that cannot be given in any form; the text is the last objection."""


@dataclass(frozen=True)
class Critique:
    """A critic at work on collapsed groups."""

    name: str
    critic: Critic
    max_retry: int
    """Fresh critiques after the first."""
    characters: int
    """Longest attempt put before a question; 0 for none."""

    @property
    def bounded(self) -> bool:
        """See Spender."""
        return self.critic.allowance.bounded

    def spent_before(self, tokens: int) -> None:
        """See Spender."""
        self.critic.allowance.resume(tokens)

    async def teach(self, case: Case) -> Lesson:
        """The typical attempt and its critique, or the critique alone, where that leaks nothing and fits;
        else silence."""
        attempt = evidence.typical(case.group)
        calls, rejected = Calls(), list[Rejected]()
        for draft in range(1 + self.max_retry):
            calls.draft = draft
            asked = self.critic.criticise(case, attempt, tuple(rejected))
            try:
                critique = (await calls.ask("critique", asked, _text)).text
            except AgentError as error:
                return Lesson(Outcome.SILENT, str(error), None, tuple(calls.made))
            try:
                held, hint = await self._lesson(case, critique, attempt.text, calls)
                return Lesson(Outcome.HINT, held, hint, tuple(calls.made))
            except Unusable as error:
                rejected.append(Rejected(critique, str(error)))
        return Lesson(Outcome.SILENT, rejected[-1].objection, None, tuple(calls.made))

    async def _lesson(self, case: Case, critique: str, attempt: str, calls: Calls) -> tuple[str, str]:
        """The fullest form that may be given, and what it holds. Raises Unusable."""
        objection = no_hint(critique, case.query.question)
        left = [] if objection else list(forms(critique, attempt, self.characters).items())
        while left:
            held, hint = left.pop(0)
            if objection := await calls.leak(case, hint):
                del left[:-1]  # of an attempt that holds the answer nothing is shown
            elif not (objection := calls.excess(case, hint)):
                return held, hint
        raise Unusable(objection)


def _text(remarks: Remarks) -> str:
    return remarks.text
