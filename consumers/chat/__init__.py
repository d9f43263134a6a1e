"""Asking a language model behind OpenAI-compatible endpoints, for any guide that wants to.

Read chat.py first: it asks and asks again, here or elsewhere. What it decides by is pure:

retries.py       which failures are repeated, and after what pause
circuit.py       when an endpoint rests, and who tries it afterwards
routes.py        which of several endpoints is asked
dialect.py       which optional parameters an endpoint takes
allowance.py     how many tokens may be spent
tokens.py        how many a text has, about
completion.py    what is in a response; replies.py: the JSON in its text
templates.py     what the model is told
usage.py         what that cost

kept.py keeps replies, so that the same questions can be put again (replay).

settings.py is what a config says of all this; server.py is an endpoint itself, and alone knows a client;
bounded.py keeps responses short.
"""

from consumers.chat.allowance import Allowance
from consumers.chat.chat import Chat, ChatError, allowance_of
from consumers.chat.dialect import Schema
from consumers.chat.replies import UnreadableReply
from consumers.chat.server import Servers
from consumers.chat.settings import Asking, Endpoint, override
from consumers.chat.usage import Usage

__all__ = [
    "Allowance",
    "Asking",
    "Chat",
    "ChatError",
    "Endpoint",
    "Schema",
    "Servers",
    "UnreadableReply",
    "Usage",
    "allowance_of",
    "override",
]
