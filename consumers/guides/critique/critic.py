"""The critic: one request to the language model, about one attempt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from consumers import evidence
from consumers.calls import AgentError
from consumers.chat import Chat, ChatError, Schema, Usage, templates
from consumers.chat.replies import parse_object, text_of
from consumers.chat.templates import Prompt, fence
from consumers.guides.base import Case
from consumers.guides.critique.config import SETTING, Config
from schemas import Trajectory

NAMES = {"question", "reference", "solution", "attempt", "total", "earlier", "rejected"}
"""What the template may ask for."""
SCHEMA: Schema = {
    "type": "object",
    "properties": {"critique": {"type": "string"}},
    "required": ["critique"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Remarks:
    """What the critic said of an attempt."""

    text: str
    usage: Usage


@dataclass(frozen=True)
class Rejected:
    """A critique that cannot be used, and why."""

    critique: str
    objection: str


class Critic:
    """A language model that is told the answer and must not say it."""

    def __init__(self, config: Config) -> None:
        self._config, self._chat, self._prompt = config, Chat(config), load(config)

    async def criticise(self, case: Case, attempt: Trajectory, rejected: Sequence[Rejected]) -> Remarks:
        """What is wrong with the attempt, unlike what was rejected. Raises AgentError."""
        values = {
            "question": fence("question", case.query.question),
            "reference": fence("answer", case.query.reference),
            "solution": fence("worked-solution", case.query.solution) if case.query.solution else "",
            "attempt": fence("attempt", self._shown(attempt)),
            "total": str(len(case.group.trajectories)),
            "earlier": _list("earlier-hint", case.earlier),
            "rejected": _list("rejected", [f"{r.critique}\nObjection: {r.objection}" for r in rejected]),
        }
        system, user = self._prompt.system, self._prompt.fill(**values)
        try:
            return Remarks(*await self._chat.ask(system, user, _read, schema=SCHEMA))
        except ChatError as error:
            raise AgentError(str(error), error.usage) from error

    def _shown(self, attempt: Trajectory) -> str:
        text = evidence.trim(attempt.text, self._config.attempt_characters)
        return f"{text}\n[verifier: {attempt.remark}]" if attempt.remark else text


def load(config: Config) -> Prompt:
    """The critic's prompt. Raises ConfigError."""
    return templates.load(config.prompts / "critique.md", NAMES, f"{SETTING}.prompts")


def _list(name: str, texts: Sequence[str]) -> str:
    return "\n".join(fence(f"{name}-{n}", text) for n, text in enumerate(texts, start=1)) or "(none)"


def _read(reply: str) -> str:
    critique = text_of(parse_object(reply), "critique")
    return re.sub(r"^critique\s*:\s*", "", critique, flags=re.IGNORECASE) or critique
