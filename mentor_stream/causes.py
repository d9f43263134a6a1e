"""Why a task group failed: the exceptions that came out of it, however deep they lie."""

from typing import TypeVar, cast

E = TypeVar("E", bound=Exception)


def causes(error: E | ExceptionGroup[E]) -> list[E]:
    """The error itself, or those in a group, however deeply nested, in order."""
    if not isinstance(error, ExceptionGroup):
        return [error]
    return [cause for inner in cast("ExceptionGroup[E]", error).exceptions for cause in causes(inner)]
