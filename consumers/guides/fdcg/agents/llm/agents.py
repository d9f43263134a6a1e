"""The agents, each one request to the language model.

Who knows what: only Attribution, Judgment and Ranking are told the reference, so that those who write hints
cannot copy it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from consumers import evidence
from consumers.chat import ChatError, Usage, allowance_of
from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import AgentError, Attribution, Draft, Judgment, Ranking
from consumers.guides.fdcg.agents.llm import forms, wording
from consumers.guides.fdcg.agents.llm.config import Config, chats_of, problems, settings_of
from consumers.sheet import Fill, Lengths, Sheet, domain_of, fitted
from mentor_stream.config import ConfigError

T = TypeVar("T")
WITH_EVIDENCE = ("attribution", "judgment", "ranking")


class LlmAgents:
    """Each agent is one request: its template filled in, its reply read as JSON."""

    def __init__(self, config: Config) -> None:
        self._settings, self._allowance = settings_of(config), allowance_of(config)
        self._chats = chats_of(self._settings, self._allowance)
        self._prompts = wording.load(config.prompts)
        self._lengths = Lengths(config.attempts_shown, config.attempt_characters)

    @property
    def bounded(self) -> bool:
        """See Spender."""
        return self._allowance.bounded

    def spent_before(self, tokens: int) -> None:
        """See Spender."""
        self._allowance.resume(tokens)

    async def attribute(self, case: Case) -> Attribution:
        """Why did all of these fail? Raises AgentError."""
        found, usage = await self._ask("attribution", case, Sheet.evidence, forms.read_attribution)
        return Attribution(*found, usage)

    async def generate(self, case: Case, attribution: Attribution | None, rejected: Sequence[str]) -> Draft:
        """A fresh draft, unlike the rejected ones. Raises AgentError."""

        def fill(sheet: Sheet) -> dict[str, str]:
            return sheet.question() | {
                "diagnosis": _diagnosis(sheet, attribution),
                "rejected": sheet.listed("rejected-hint", rejected),
            }

        return Draft(*await self._ask("generation", case, fill, forms.read_hint))

    async def judge(self, case: Case, draft: str) -> Judgment:
        """May the draft be shown? Raises AgentError."""

        def fill(sheet: Sheet) -> dict[str, str]:
            return sheet.evidence() | {"hint": sheet.datum("hint", draft)}

        (flaw, critique), usage = await self._ask("judgment", case, fill, forms.read_judgment)
        return Judgment(flaw, critique, usage)

    async def repair(self, case: Case, draft: str, critique: str) -> Draft:
        """A new draft that answers the critique. Raises AgentError."""

        def fill(sheet: Sheet) -> dict[str, str]:
            return sheet.question() | {
                "hint": sheet.datum("hint", draft),
                "critique": sheet.datum("objection", critique),
            }

        return Draft(*await self._ask("repair", case, fill, forms.read_hint))

    async def rank(self, case: Case, drafts: Sequence[str]) -> Ranking:
        """Which of these drafts would help most? Raises AgentError."""

        def fill(sheet: Sheet) -> dict[str, str]:
            return sheet.evidence() | {"drafts": sheet.listed("draft", drafts)}

        read = partial(forms.read_order, count=len(drafts))
        return Ranking(*await self._ask("ranking", case, fill, read))

    async def _ask(self, agent: str, case: Case, fill: Fill, read: Callable[[str], T]) -> tuple[T, Usage]:
        system, user = self._filled(agent, case, fill)
        try:
            return await self._chats[agent].ask(system, user, read, schema=forms.SCHEMAS[agent])
        except ChatError as error:
            raise AgentError(str(error), error.usage) from error

    def _filled(self, agent: str, case: Case, fill: Fill) -> tuple[str, str]:
        attempts = evidence.unlike(case.group, self._lengths.attempts) if agent in WITH_EVIDENCE else ()
        prompt = self._prompts[domain_of(case), agent]
        return fitted(prompt, self._settings[agent], Sheet(case, self._lengths, attempts), fill)


def _diagnosis(sheet: Sheet, attribution: Attribution | None) -> str:
    if attribution is None:
        return "(not known)"
    lines = [attribution.root_cause, *(f"- {error}" for error in attribution.errors)]
    return sheet.datum("diagnosis", "\n".join(lines) + f"\nKeywords: {', '.join(attribution.keywords)}")


def build(config: Config) -> LlmAgents:
    """The plugin's entry. Raises ConfigError for prompts that cannot be used."""
    return LlmAgents(config)


def check(config: Config) -> Iterable[str]:
    """Problems that show before the first request: a key that is not set, prompts that cannot be used."""
    try:
        yield from problems(config)
        wording.load(config.prompts)
    except ConfigError as error:
        yield str(error)
