"""Why a task group failed: the exceptions that came out of it, however deep they lie."""

from typing import TypeVar

E = TypeVar("E", bound=Exception)


def causes(group: ExceptionGroup[E]) -> list[E]:
    """The exceptions in a group, however deeply nested, in order."""
    found: list[E] = []
    for inner in group.exceptions:
        found += causes(inner) if isinstance(inner, ExceptionGroup) else [inner]
    return found
