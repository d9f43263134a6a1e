"""Which failed requests are repeated, where, and after what pause. No I/O."""

from enum import Enum

LONGEST_PAUSE = 30.0
LONGEST_REST = 3600.0
"""However long a pause a server asks for."""
PATIENCE = 5.0
"""An endpoint that asks for a longer pause is left alone for it, and others are asked meanwhile."""


class Kind(Enum):
    """What a failure says."""

    REPLY = "reply"
    """The endpoint works and the reply is none: the next may be better, at once."""
    DOWN = "down"
    """The endpoint does not work or has no room: another is asked, or the same after a pause."""
    CLOSED = "closed"
    """The endpoint will not answer us: only another is asked."""
    REQUEST = "request"
    """The request cannot be answered: nobody else is asked."""


class Failure(Exception):
    """A request without a usable answer, and the pause that the server asked for, if any."""

    def __init__(self, reason: str, kind: Kind, pause: float | None = None) -> None:
        super().__init__(reason)
        self.kind, self.pause = kind, pause

    @property
    def rest(self) -> float | None:
        """For how long at least the endpoint rests after this one failure; None if one is not enough."""
        if self.pause is not None and self.pause > PATIENCE:
            return min(self.pause, LONGEST_REST)
        return 0.0 if self.kind is Kind.CLOSED else None


class TimedOut(Failure):
    """No reply in time: nobody knows what it would have come to."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no reply within {seconds:g} s", Kind.DOWN)


def kind_of(status: int) -> Kind:
    """What an HTTP status other than 2xx says."""
    if status in (401, 402, 403, 404):
        return Kind.CLOSED
    return Kind.DOWN if status in (408, 409, 425, 429) or status >= 500 else Kind.REQUEST


def retry_after(header: str | None) -> float | None:
    """Seconds of a Retry-After header; dates are not read."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def backoff(first: float, rounds: int, jitter: float) -> float:
    """Seconds before the next request, doubled each round, varied by half; `jitter` is between 0 and 1."""
    return min(LONGEST_PAUSE, first * 2.0 ** min(rounds - 1, 30)) * (0.5 + jitter)
