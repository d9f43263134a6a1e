"""Agents that are language models behind an OpenAI-compatible endpoint: `kind = "llm"`.

Each agent is one request (consumers/chat) with a template of prompts/ filled in.
"""

from consumers.guides.fdcg.agents.llm.agents import Config, LlmAgents, build, check

__all__ = ["Config", "LlmAgents", "build", "check"]
