"""Messages that are lost and that nobody waits for: in an outage there are many, told together."""

import logging

from mentor_stream.broker.kafka.quiet import SAY_AGAIN_SECONDS, Sparingly

log = logging.getLogger(__name__)


class Losses:
    """Counts them from one telling to the next."""

    def __init__(self, seconds: float = SAY_AGAIN_SECONDS) -> None:
        self._said = Sparingly(seconds)
        self._count = 0
        self._last: Exception | None = None

    def add(self, error: Exception) -> None:
        """One more is lost."""
        self._count, self._last = self._count + 1, error

    def tell(self, *, at_once: bool = False) -> None:
        """Say how many there are since the last time, unless that was just now."""
        if self._count and (self._said.may_say("lost") or at_once):
            log.warning("messages lost whose senders did not wait: %d; the last: %s", self._count, self._last)
            self._count = 0
