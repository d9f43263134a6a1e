"""A message between its sender and the cluster."""

from dataclasses import dataclass

import anyio

from mentor_stream.broker.base import Receipt


class Round:
    """One try with messages that are waited for together: one event, however many they are."""

    __slots__ = ("_event", "_left")

    def __init__(self, left: int, event: anyio.Event) -> None:
        self._left, self._event = left, event

    def one_less(self) -> None:
        """The try is over for one of them."""
        self._left -= 1
        if not self._left:
            self._event.set()

    async def wait(self) -> None:
        """Until it is for all."""
        await self._event.wait()


@dataclass(slots=True, eq=False)
class Parcel:
    """On its way, and how it ended. Without an end its sender goes round once more."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    envelope: int
    """Bytes of key and headers, as sizes.py counts them."""
    since: float
    end: Receipt | Exception | None = None
    awaited: bool = True
    round: Round | None = None
    """The try it is in."""

    @property
    def size(self) -> int:
        """Bytes that it takes while it is under way."""
        return self.envelope + len(self.value)

    def settle(self, end: Receipt | Exception | None) -> None:
        """Its try is over; the first end stays."""
        self.end = self.end or end
        if self.round:
            self.round.one_less()
            self.round = None
