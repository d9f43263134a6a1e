"""Agents that are language models behind an OpenAI-compatible endpoint: `kind = "llm"`.

agents.py: each agent is one request (consumers/chat) with a template of prompts/ filled in. forms.py says how
the reply is read, wording.py which template it is, config.py what can be set.
"""

from consumers.guides.fdcg.agents.llm.agents import LlmAgents, build, check
from consumers.guides.fdcg.agents.llm.config import Config

__all__ = ["Config", "LlmAgents", "build", "check"]
