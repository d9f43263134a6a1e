"""Who plays the four agents: base.py is the protocol, every other module is one kind of them."""

from consumers.guides.fdcg.agents.base import (
    AgentError,
    Agents,
    Attribution,
    Draft,
    Flaw,
    Judgment,
    Usage,
)

__all__ = ["AgentError", "Agents", "Attribution", "Draft", "Flaw", "Judgment", "Usage"]
