"""What commands do that are about no run's stream: found by entry point, as components are.

A tool registers itself under the group `mentor_stream.tools`; nothing here imports producers or consumers.
"""

from importlib.metadata import entry_points
from typing import Any


def load(name: str) -> Any:
    """The module that offers a tool."""
    (entry,) = entry_points(group="mentor_stream.tools", name=name)
    return entry.load()
