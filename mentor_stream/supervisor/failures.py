"""Exception groups, as they come out of nested task groups."""

from typing import TypeVar

E = TypeVar("E", bound=Exception)


def causes(group: ExceptionGroup[E]) -> list[E]:
    """The exceptions in a group, however deeply nested, in order."""
    found: list[E] = []
    for inner in group.exceptions:
        found += causes(inner) if isinstance(inner, ExceptionGroup) else [inner]
    return found
