"""Blocks of code in a text with Markdown."""

import re
from typing import NamedTuple

_FENCE = re.compile(
    r"^[ \t>]*+(`{3,}+|~{3,}+)([^\n]*+)\n(.*?)(?:^[ \t>]*+\1[`~]*+[ \t]*+$|\Z)", re.DOTALL | re.MULTILINE
)
"""Gives nothing back once it is read: a flood of fences is read once."""


class Block(NamedTuple):
    """What stands between two fences, and the language that the first one names, in lower case."""

    language: str
    code: str


def blocks(text: str) -> list[Block]:
    """The blocks in order; a fence left open runs to the end."""
    return [Block(_language(match[2]), match[3]) for match in _FENCE.finditer(text)]


def fenced(text: str) -> list[str]:
    """What stands between fences, without them."""
    return [block.code for block in blocks(text)]


def unfenced(text: str) -> str:
    """The text without its blocks of code."""
    return _FENCE.sub("\n", text)


def _language(info: str) -> str:
    """The first word of what follows a fence: ` ```python title=x`, ` ```{.python}`."""
    found = re.match(r"[\s{.]*([\w+#-]*)", info)
    return found[1].lower() if found else ""
