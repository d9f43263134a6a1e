"""The critic: one request to the language model, about one attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from consumers.calls import AgentError
from consumers.chat import Chat, ChatError, Usage, allowance_of, templates
from consumers.chat.dialect import object_of
from consumers.chat.replies import said_in
from consumers.chat.templates import Prompt
from consumers.guides.base import Case
from consumers.guides.critique.config import SETTING, Config
from consumers.sheet import DOMAINS, Lengths, Sheet, domain_of, fitted, prompt_file
from schemas import Trajectory

NAMES = {"question", "reference", "solution", "attempts", "shown", "total", "endings", "earlier", "rejected"}
"""What the template may ask for."""
SCHEMA = object_of(critique={"type": "string"})


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
        self.allowance = allowance_of(config)
        self._config, self._prompts = config, load(config.prompts)
        self._chat = Chat(config, allowance=self.allowance)

    async def criticise(self, case: Case, attempt: Trajectory, rejected: Sequence[Rejected]) -> Remarks:
        """What is wrong with the attempt, unlike what was rejected. Raises AgentError."""
        objections = [f"{r.critique}\nObjection: {r.objection}" for r in rejected]

        def fill(sheet: Sheet) -> dict[str, str]:
            return sheet.evidence() | {"rejected": sheet.listed("rejected", objections)}

        sheet = Sheet(case, Lengths(attempts=1, attempt=self._config.attempt_characters), [attempt])
        system, user = fitted(self._prompts[domain_of(case)], self._config, sheet, fill)
        read = partial(said_in, field="critique")
        try:
            return Remarks(*await self._chat.ask(system, user, read, schema=SCHEMA))
        except ChatError as error:
            raise AgentError(str(error), error.usage) from error


def load(directory: Path) -> Mapping[str, Prompt]:
    """The critic's prompts by domain. Raises ConfigError."""
    files = {domain: prompt_file(directory, domain, "critique") for domain in DOMAINS}
    return {domain: templates.load(file, NAMES, f"{SETTING}.prompts") for domain, file in files.items()}
