"""Asking a language model behind an OpenAI-compatible endpoint, for any guide that wants to.

chat.py asks and asks again; templates.py says what it is told, replies.py reads what comes back, usage.py is
what that cost.
"""

from consumers.chat.chat import Chat, ChatError, Endpoint
from consumers.chat.replies import UnreadableReply
from consumers.chat.usage import Usage

__all__ = ["Chat", "ChatError", "Endpoint", "UnreadableReply", "Usage"]
