"""Blocks of code in a text with Markdown."""

import re

_FENCE = re.compile(
    r"^[ \t>]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)


def fenced(text: str) -> list[str]:
    """What stands between fences, without them; a fence left open runs to the end."""
    return [match[2] for match in _FENCE.finditer(text)]


def unfenced(text: str) -> str:
    """The text without its blocks of code."""
    return _FENCE.sub("\n", text)
