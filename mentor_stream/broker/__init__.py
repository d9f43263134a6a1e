"""One contract (base.py), one engine a module: sqlite.py for a single machine, kafka.py for clusters.

The URL's scheme chooses: a new engine is a new package here with a `connect` and a `check` of its own.
"""

import importlib
from contextlib import AbstractAsyncContextManager
from types import ModuleType

from mentor_stream.broker.base import (
    EARLIEST,
    Bounds,
    Broker,
    BrokerError,
    BrokerUnavailable,
    Consumer,
    Message,
    MessageTooLarge,
    OffsetGap,
    OnGap,
    Producer,
    Reader,
    Receipt,
    TopicPartition,
    TopicSpec,
    TopicState,
    UnknownTopic,
)
from mentor_stream.broker.waiting import wait_for_topics


def connect(url: str, *, create: bool = True) -> AbstractAsyncContextManager[Broker]:
    """A connection to the broker behind `url`: `sqlite:///path.db` or `kafka://host:port,...`.

    Without `create` a broker that is a file must exist already: for those who only look.
    Raises BrokerError for a URL of no known engine; entering the context raises BrokerUnavailable.
    """
    return _engine(url).connect(url, create=create)


def check(url: str) -> None:
    """Raises BrokerError for what is wrong with `url` before anything is connected to."""
    try:
        _engine(url).check(url)
    except ValueError as error:  # of urllib; its text holds no credentials
        raise BrokerError(f"run.broker is no URL: {error}") from error


def _engine(url: str) -> ModuleType:
    scheme = url.partition("://")[0]
    if not scheme.isidentifier():
        raise BrokerError(f"run.broker is {url!r}: expected sqlite:///path.db or kafka://host:port")
    try:
        engine = importlib.import_module(f"{__name__}.{scheme}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{scheme}":
            raise
        raise BrokerError(f"run.broker is {url!r}: no engine {scheme!r}; use sqlite or kafka") from error
    if not hasattr(engine, "connect"):
        raise BrokerError(f"run.broker is {url!r}: no engine {scheme!r}; use sqlite or kafka")
    return engine


__all__ = [
    "EARLIEST",
    "Bounds",
    "Broker",
    "BrokerError",
    "BrokerUnavailable",
    "Consumer",
    "Message",
    "MessageTooLarge",
    "OffsetGap",
    "OnGap",
    "Producer",
    "Reader",
    "Receipt",
    "TopicPartition",
    "TopicSpec",
    "TopicState",
    "UnknownTopic",
    "check",
    "connect",
    "wait_for_topics",
]
