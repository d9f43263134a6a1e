"""A message between its sender and the cluster."""

from dataclasses import dataclass

import anyio

from mentor_stream.broker.base import Receipt


@dataclass(slots=True, eq=False)
class Parcel:
    """On its way, and how it ended. `settled` is set when it has; its sender waits for that alone."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    size: int
    since: float
    settled: anyio.Event
    end: Receipt | Exception | None = None
    awaited: bool = True
