"""kafka-python's log: neither a hundred lines a second while a broker is away, nor anybody's password."""

import logging
import time
from collections.abc import Hashable, Mapping

from kafka.protocol.sasl import SaslAuthenticateRequest, SaslBytesRequest

SAY_AGAIN_SECONDS = 30.0
FORGET_SECONDS = 3600.0
NOISE = {
    "kafka.cluster": ("No node available", "Metadata refresh: failed", "Bootstrap"),
    "kafka.net.manager": ("Connection failed", "Bootstrap"),
    "kafka.net.connection": ("%s: Connection lost", "%s: SaslHandshake failed"),
    "kafka.net.transport": (
        "%s: Abort",
        "%s: Error receiving",
        "%s: Error sending",
        "%s: socket disconnected",
    ),
    "kafka.coordinator": ("Error sending", "Marking the coordinator dead"),
    "kafka.consumer.fetcher": ("Fetch to node",),
    "kafka.net.selector": ("Task <",),
    "kafka.producer.sender": ("%s: Error sending produce request", "%s: Got error produce response"),
    "kafka.producer.producer_batch": ("Failed to produce messages",),
}
"""Per logger, how lines begin that tell no more than that a connection failed, or that a message waits for
its acknowledgement: network.py and sender.py say so once, and whoever waits gets the error."""
_WIRE = ("%s Send: ", "%s Recv: ")
"""The bytes as they are on the wire, those of a login among them."""
_TEMPLATE_CHARACTERS = 24
"""So much of a line tells what it is about; what follows may be another number each time."""


class Sparingly:
    """Lets a thing be said again only after a while. Of the same process, whoever says it.

    Things may be free text: what was not said for an hour is forgotten, so that they do not pile up.
    """

    def __init__(self, seconds: float = SAY_AGAIN_SECONDS) -> None:
        self._seconds = seconds
        self._said: dict[Hashable, float] = {}

    def may_say(self, what: Hashable, now: float | None = None) -> bool:
        """Whether it is to be said now; if so, it counts as said."""
        now = time.monotonic() if now is None else now
        if now - self._said.get(what, -self._seconds) < self._seconds:
            return False
        self._forget(now)
        self._said[what] = now
        return True

    def over(self, what: Hashable) -> bool:
        """Whether it had been said and is not forgotten. It may be said again at once."""
        return self._said.pop(what, None) is not None

    def _forget(self, now: float) -> None:
        for what, when in self._said.copy().items():  # a copy: other threads say things meanwhile
            if now - when > FORGET_SECONDS:
                self._said.pop(what, None)


class Quiet(logging.Filter):
    """Lets through what is news."""

    def __init__(self) -> None:
        super().__init__()
        self._sparingly = Sparingly()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        template = str(record.msg)
        if tells_secrets(template, record.args):
            return False
        if logging.getLogger("kafka").isEnabledFor(logging.INFO):
            return True  # somebody wants to know it all
        if is_noise(record.name, template):
            return False
        return self._sparingly.may_say((record.name, template[:_TEMPLATE_CHARACTERS]))


def is_noise(logger: str, template: str) -> bool:
    """Whether the line says nothing that is not said better elsewhere."""
    return template.startswith(NOISE.get(logger, ()) or ("\0",))


def tells_secrets(template: str, arguments: "tuple[object, ...] | Mapping[str, object] | None") -> bool:
    """Whether the line holds a login."""
    values = arguments if isinstance(arguments, tuple) else ()
    return template.startswith(_WIRE) or any(
        isinstance(value, SaslAuthenticateRequest | SaslBytesRequest) for value in values
    )


_FILTER = Quiet()


def quiet() -> None:
    """Make kafka-python's loggers quiet, of the modules imported so far."""
    logger = logging.getLogger("kafka")
    if logger.level == logging.NOTSET:
        # unless someone asked for it, its narration of every connection is too much
        logger.setLevel(logging.WARNING)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("kafka."):
            logging.getLogger(name).addFilter(_FILTER)
