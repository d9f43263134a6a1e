"""Agents that are language models behind an OpenAI-compatible endpoint: `kind = "llm"`.

agents.py is the way in; evidence.py chooses the attempts they are shown, templates.py and prompts/ say what
they are told, chat.py asks and asks again, replies.py reads what comes back.
"""

from consumers.guides.fdcg.agents.llm.agents import Config, LlmAgents, build, check

__all__ = ["Config", "LlmAgents", "build", "check"]
