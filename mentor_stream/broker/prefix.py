"""How far a partition may be committed while its messages are finished in any order."""


class Prefix:
    """The messages of one partition that were handed to this member, and how far they are done.

    Offsets are delivered in increasing order and may have gaps. Only what is outstanding is remembered,
    so memory stays bounded however far the work runs ahead of one slow message.
    """

    def __init__(self) -> None:
        self._outstanding: dict[int, None] = {}
        self._next: int | None = None
        self._committed: int | None = None

    def __len__(self) -> int:
        """Messages delivered and not yet done."""
        return len(self._outstanding)

    def delivered(self, offset: int) -> None:
        """The message at `offset` was fetched for this member. Raises ValueError when out of order."""
        if self._next is None:
            self._committed = offset
        elif offset < self._next:
            raise ValueError(f"offset {offset} delivered after {self._next - 1}")
        self._outstanding[offset] = None
        self._next = offset + 1

    def done(self, offset: int) -> bool:
        """The message at `offset` is dealt with; False when it is not outstanding (again, or unknown)."""
        if offset not in self._outstanding:
            return False
        del self._outstanding[offset]
        return True

    def committable(self) -> int | None:
        """The offset to continue at after a crash: all below it is done. None when nothing is new."""
        first = next(iter(self._outstanding), self._next)
        return None if first == self._committed else first

    def committed(self, offset: int) -> None:
        """The broker has kept `offset`, which `committable` named before."""
        self._committed = offset
