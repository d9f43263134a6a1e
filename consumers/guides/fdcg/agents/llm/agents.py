"""The four agents, each one request to the language model.

Who knows what: only Attribution and Judgment are told the reference, so that the agents who write the hint
cannot copy it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from consumers import evidence
from consumers.chat import Chat, ChatError, Endpoint, UnreadableReply, Usage, templates
from consumers.chat.replies import parse_object, text_of, texts_of
from consumers.chat.templates import Prompt, fence
from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import SETTING, AgentError, Attribution, Draft, Flaw, Judgment
from mentor_stream.config import ConfigError
from schemas import Query

T = TypeVar("T")

PROMPTS = Path(__file__).parent / "prompts"
NAMES = {
    "attribution": {"question", "reference", "solution", "earlier", "shown", "total", "attempts"},
    "generation": {"question", "diagnosis", "earlier", "rejected"},
    "judgment": {"question", "reference", "solution", "shown", "total", "attempts", "hint"},
    "repair": {"question", "hint", "critique", "earlier"},
}
"""What each agent's template may ask for."""


class Config(Endpoint):
    """Options of the agents."""

    prompts: Path = PROMPTS
    """Directory whose attribution.md, generation.md, judgment.md and repair.md replace the built-in ones."""
    attempts_shown: int = Field(4, ge=1)
    """Failed attempts that an agent is shown, as unlike each other as possible."""
    attempt_characters: int = Field(4000, ge=100)
    """Longest attempt; more is cut out of the middle."""


class LlmAgents:
    """Each agent is one request: its template filled in, its reply read as JSON."""

    def __init__(self, config: Config) -> None:
        self._config, self._chat = config, Chat(config)
        self._prompts = _load(config)

    async def attribute(self, case: Case) -> Attribution:
        """Why did all of these fail? Raises AgentError."""
        values = {
            **_question(case.query),
            **_key(case.query),
            **self._attempts(case),
            "earlier": _list("earlier-hint", case.earlier),
        }
        found, usage = await self._ask("attribution", values, _read_attribution)
        return Attribution(*found, usage)

    async def generate(self, case: Case, attribution: Attribution | None, rejected: Sequence[str]) -> Draft:
        """A fresh draft, unlike the rejected ones. Raises AgentError."""
        values = {
            **_question(case.query),
            "diagnosis": fence("diagnosis", _diagnosis(attribution)) if attribution else "(not known)",
            "earlier": _list("earlier-hint", case.earlier),
            "rejected": _list("rejected-hint", rejected),
        }
        return Draft(*await self._ask("generation", values, _read_hint))

    async def judge(self, case: Case, draft: str) -> Judgment:
        """May the draft be shown? Raises AgentError."""
        values = {
            **_question(case.query),
            **_key(case.query),
            **self._attempts(case),
            "hint": fence("hint", draft),
        }
        (flaw, critique), usage = await self._ask("judgment", values, _read_judgment)
        return Judgment(flaw, critique, usage)

    async def repair(self, case: Case, draft: str, critique: str) -> Draft:
        """A new draft that answers the critique. Raises AgentError."""
        values = {
            **_question(case.query),
            "hint": fence("hint", draft),
            "critique": fence("objection", critique),
            "earlier": _list("earlier-hint", case.earlier),
        }
        return Draft(*await self._ask("repair", values, _read_hint))

    async def _ask(self, agent: str, values: dict[str, str], read: Callable[[str], T]) -> tuple[T, Usage]:
        prompt = self._prompts[agent]
        try:
            return await self._chat.ask(prompt.system, prompt.fill(**values), read)
        except ChatError as error:
            raise AgentError(str(error), error.usage) from error

    def _attempts(self, case: Case) -> dict[str, str]:
        shown = evidence.select(case.group, self._config.attempts_shown)
        trimmed = (evidence.trim(text, self._config.attempt_characters) for text in shown)
        return {
            "shown": str(len(shown)),
            "total": str(len(case.group.trajectories)),
            "attempts": "\n\n".join(fence(f"attempt-{n}", text) for n, text in enumerate(trimmed, start=1)),
        }


def _question(query: Query) -> dict[str, str]:
    return {"question": fence("question", query.question)}


def _key(query: Query) -> dict[str, str]:
    """What only agents are told that do not write the hint."""
    solution = fence("worked-solution", query.solution) if query.solution else ""
    return {"reference": fence("answer", query.reference), "solution": solution}


def _list(name: str, texts: Sequence[str]) -> str:
    return "\n".join(fence(f"{name}-{n}", text) for n, text in enumerate(texts, start=1)) or "(none)"


def _diagnosis(attribution: Attribution) -> str:
    lines = [attribution.root_cause, *(f"- {error}" for error in attribution.errors)]
    return "\n".join(lines) + f"\nKeywords: {', '.join(attribution.keywords)}"


def _read_attribution(reply: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    said = parse_object(reply)
    return text_of(said, "root_cause"), texts_of(said, "errors"), texts_of(said, "keywords")


def _read_hint(reply: str) -> str:
    hint = text_of(parse_object(reply), "hint")
    return re.sub(r"^hint\s*:\s*", "", hint, flags=re.IGNORECASE) or hint


def _read_judgment(reply: str) -> tuple[Flaw | None, str]:
    said = parse_object(reply)
    verdict = text_of(said, "verdict").lower().strip(" .")
    critique = text_of(said, "critique", optional=True)
    if verdict == "pass":
        return None, critique
    if verdict not in {flaw.value for flaw in Flaw}:
        raise UnreadableReply(f"the verdict is {verdict[:40]!a}, none of pass and the flaws")
    return Flaw(verdict), critique or f"the hint is {verdict}"


def _load(config: Config) -> dict[str, Prompt]:
    """The four prompts. Raises ConfigError."""
    files = {agent: config.prompts / f"{agent}.md" for agent in NAMES}
    return {
        agent: templates.load(files[agent], names, f"{SETTING}.prompts") for agent, names in NAMES.items()
    }


def build(config: Config) -> LlmAgents:
    """The plugin's entry. Raises ConfigError for prompts that cannot be used."""
    return LlmAgents(config)


def check(config: Config) -> Iterable[str]:
    """Problems that show before the first request: a key that is not set, prompts that cannot be used."""
    yield from config.problems(SETTING)
    try:
        _load(config)
    except ConfigError as error:
        yield str(error)
