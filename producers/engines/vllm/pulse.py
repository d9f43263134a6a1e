"""Whether a server that has work makes progress. No I/O, no clock."""


class Pulse:
    """Of one server. Times are seconds on any clock that does not run backwards."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._tokens: float | None = None
        self._since: float | None = None
        """When it was first seen standing still over work."""

    def note(self, now: float, tokens: float | None, *, busy: bool) -> None:
        """So many tokens it has made; None when it did not answer, not a number when it does not count them:
        then an answer is all the life that can be seen."""
        moved = tokens is not None and tokens != self._tokens
        if moved or not busy:
            self._since = None
        elif self._since is None:
            self._since = now
        self._tokens = self._tokens if tokens is None else tokens

    def stalled(self, now: float) -> float | None:
        """For how long it has stood still, once that is too long."""
        if self._since is None or now - self._since < self._limit:
            return None
        return now - self._since
