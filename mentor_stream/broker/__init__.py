"""One contract (base.py), one engine a module: sqlite.py for a single machine, kafka.py for clusters.

`connect` chooses by the URL's scheme: a new engine is a new module here with a `connect` of its own.
"""

import importlib
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

from mentor_stream.broker.base import (
    Bounds,
    Broker,
    BrokerError,
    BrokerUnavailable,
    Consumer,
    FencedError,
    Message,
    MessageTooLarge,
    Producer,
    Reader,
    Receipt,
    TopicPartition,
    TopicSpec,
    UnknownTopic,
)


def connect(url: str) -> AbstractAsyncContextManager[Broker]:
    """A connection to the broker behind `url`: `sqlite:///path.db` or `kafka://host:port,...`.

    Raises BrokerError for a URL of no known engine; entering the context raises BrokerUnavailable.
    """
    scheme = urlsplit(url).scheme
    if not scheme.isidentifier():
        raise BrokerError(f"run.broker is {url!r}: expected sqlite:///path.db or kafka://host:port")
    try:
        engine = importlib.import_module(f"{__name__}.{scheme}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{scheme}":
            raise
        raise BrokerError(f"run.broker is {url!r}: no engine {scheme!r}; use sqlite or kafka") from error
    return engine.connect(url)


__all__ = [
    "Bounds",
    "Broker",
    "BrokerError",
    "BrokerUnavailable",
    "Consumer",
    "FencedError",
    "Message",
    "MessageTooLarge",
    "Producer",
    "Reader",
    "Receipt",
    "TopicPartition",
    "TopicSpec",
    "UnknownTopic",
    "connect",
]
