"""Messages on their way into the file, and those of them that share a transaction."""

from dataclasses import dataclass, field

import anyio

from mentor_stream.broker import sizes
from mentor_stream.broker.base import Outgoing, Receipt
from mentor_stream.broker.sqlite import log


@dataclass(eq=False, slots=True)
class Sending:
    """A message on its way, and how it ended."""

    topic: str
    key: bytes
    headers: bytes
    value: bytes
    envelope: int
    """Bytes of key and headers, as sizes.py counts them."""
    since: float
    """When its sender began, as time.monotonic says."""
    settled: anyio.Event = field(init=False)
    """Of the batch that it is in: another one after a try in vain."""
    end: Receipt | Exception | None = None

    @classmethod
    def of(cls, message: Outgoing, since: float) -> "Sending":
        """The message that its sender gave."""
        topic, key, value, headers = message
        return cls(topic, key, log.pack_headers(headers), value, sizes.envelope(key, headers), since)

    @property
    def size(self) -> int:
        """Bytes that it takes while it is under way."""
        return self.envelope + len(self.value)


@dataclass(eq=False, slots=True)
class Batch:
    """Messages that go into one transaction; `settled` when that was tried."""

    messages: list[Sending] = field(default_factory=list[Sending])
    size: int = 0
    settled: anyio.Event = field(default_factory=anyio.Event)

    def add(self, message: Sending, size: int) -> None:
        """One more, of so many bytes."""
        message.settled = self.settled
        self.messages.append(message)
        self.size += size
