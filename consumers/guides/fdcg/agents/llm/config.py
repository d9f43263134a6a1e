"""What can be set: for all agents, and for each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from consumers.chat import Allowance, Asking, Chat, Endpoint, Servers, override
from consumers.guides.fdcg.agents.base import SETTING

PROMPTS = Path(__file__).parent / "prompts"
Table = dict[str, Any]


class Config(Endpoint):
    """Options of the agents. A table of an agent's own replaces what it names of the endpoint's settings."""

    prompts: Path = PROMPTS
    """Directory whose attribution.md, generation.md, judgment.md, repair.md and ranking.md replace the
    built-in ones; what is in its folders math and code is for such questions only."""
    attempts_shown: int = Field(4, ge=1)
    """Failed attempts that an agent is shown, as unlike each other as possible."""
    attempt_characters: int = Field(4000, ge=100)
    """Longest attempt; more is cut out of the middle."""
    attribution: Table = Field(default_factory=Table)
    generation: Table = Field(default_factory=Table)
    judgment: Table = Field(default_factory=Table)
    """Judgment ranks drafts too, where there are several."""
    repair: Table = Field(default_factory=Table)


AGENTS = ("attribution", "generation", "judgment", "repair", "ranking")


def settings_of(config: Config) -> Mapping[str, Asking]:
    """How each agent asks. Raises ConfigError."""
    own = {agent: getattr(config, agent) for agent in AGENTS if agent != "ranking"}
    asking = {agent: override(config, table, f"{SETTING}.{agent}") for agent, table in own.items()}
    return asking | {"ranking": asking["judgment"]}


def problems(config: Config) -> list[str]:
    """Keys that are not set, each named once. Raises ConfigError."""
    found = list(config.problems(SETTING))
    for agent, asking in settings_of(config).items():
        own = getattr(config, agent, {})
        if {"base_url", "api_key_env", "standby"} & set(own):
            found += asking.problems(f"{SETTING}.{agent}")
    return found


def chats_of(settings: Mapping[str, Asking], allowance: Allowance) -> Mapping[str, Chat]:
    """How each agent is asked: all of them share endpoints and allowance."""
    servers = Servers()
    return {agent: Chat(asking, servers, allowance) for agent, asking in settings.items()}
