"""The agents' templates, by the domain of the question: built in, or a reader's own."""

from collections.abc import Mapping
from pathlib import Path

from consumers.chat import templates
from consumers.chat.templates import Prompt
from consumers.guides.fdcg.agents.base import SETTING
from consumers.guides.fdcg.agents.llm.config import PROMPTS
from consumers.sheet import DOMAINS, prompt_file

_EVIDENCE = {"question", "reference", "solution", "shown", "total", "attempts", "endings", "earlier"}
NAMES = {
    "attribution": _EVIDENCE,
    "generation": {"question", "diagnosis", "earlier", "rejected"},
    "judgment": _EVIDENCE | {"hint"},
    "repair": {"question", "hint", "critique", "earlier"},
    "ranking": _EVIDENCE | {"drafts"},
}
"""What each agent's template may ask for: those who write the hint are not told the answer."""


def load(directory: Path) -> Mapping[tuple[str, str], Prompt]:
    """The prompts by domain and agent. Raises ConfigError."""
    return {
        (domain, agent): templates.load(_file(directory, domain, agent), names, f"{SETTING}.prompts")
        for domain in DOMAINS
        for agent, names in NAMES.items()
    }


def _file(directory: Path, domain: str, agent: str) -> Path:
    """ranking.md, which most guides have no use for, may be missing."""
    file = prompt_file(directory, domain, agent)
    return PROMPTS / domain / "ranking.md" if agent == "ranking" and not file.exists() else file
