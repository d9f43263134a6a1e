"""Where the drafts of one case come from: Generation, and with several at a time the one ranked first.

To draft more than one and rank them is ours, beyond the paper: off unless `n_drafts` says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from consumers.calls import AgentError, Calls
from consumers.drafts import no_hint
from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import Agents, Attribution, Draft, Ranking


@dataclass
class Drafting:
    """Drafts one after the other; those that were ranked lower come before new ones are written."""

    case: Case
    agents: Agents
    attribution: Attribution | None
    calls: Calls
    n_drafts: int
    """Written at once."""
    _ranked: list[str] = field(default_factory=list[str], init=False)

    async def next(self, rejected: Sequence[str]) -> str:
        """A draft unlike the rejected ones, as far as Generation can help it. Raises AgentError."""
        if not self._ranked:
            self._ranked = await self._rank(await self._written(tuple(rejected)))
        return self._ranked.pop(0)

    async def _written(self, rejected: Sequence[str]) -> list[str]:
        """As many different drafts as come, at least one. Raises AgentError when none does."""
        texts: list[str] = []
        failures: list[AgentError] = []

        async def write() -> None:
            answer = self.agents.generate(self.case, self.attribution, rejected)
            try:
                texts.append((await self.calls.ask("generation", answer, _text)).text)
            except AgentError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(self.n_drafts):
                tasks.start_soon(write)
        if not texts:
            raise failures[-1]
        return list(dict.fromkeys(texts))

    async def _rank(self, drafts: list[str]) -> list[str]:
        """The drafts, the best first; those that could never be published last, and unranked.

        As they came when nobody can rank them.
        """
        if len(drafts) == 1:
            return drafts
        sound = [draft for draft in drafts if await self._sound(draft)]
        others = [draft for draft in drafts if draft not in sound]
        if len(sound) > 1:
            try:
                answer = await self.calls.ask("ranking", self.agents.rank(self.case, sound), _order)
                sound = [sound[place] for place in answer.order]
            except AgentError:
                pass  # it is in the calls
        return sound + others

    async def _sound(self, draft: str) -> bool:
        """What needs no opinion is asked before the opinion is paid for."""
        if no_hint(draft, self.case.query.question):
            return False
        return not (await self.calls.leak(self.case, draft) or self.calls.excess(self.case, draft))


def _text(draft: Draft) -> str:
    return draft.text


def _order(ranking: Ranking) -> str:
    return ", ".join(str(place) for place in ranking.order)
