"""Deterministic identifiers: the same work done twice gets the same name, so a repeat is harmless."""

from hashlib import blake2b


def _digest(kind: str, *parts: str | int) -> str:
    text = "\x1f".join([kind, *map(str, parts)])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def query_id(dataset: str, row: int) -> str:
    """The id of a plain query: one row of one dataset (by content digest), whatever the epoch."""
    return _digest("query", dataset, row)


def group_id(run: str, query_id: str, attempt: int) -> str:
    """The id of the group sampled for one attempt (epoch) at a query."""
    return _digest("group", run, query_id, attempt)


def guided_query_id(collapsed_group_id: str, guide: str, guidance_round: int) -> str:
    """The id of the lesson that `guide` makes of a collapsed group in this round."""
    return _digest("guided", collapsed_group_id, guide, guidance_round)


def hint_id(guide: str, text: str) -> str:
    """The id of a hint: who wrote it and what it says."""
    return _digest("hint", guide, text)
