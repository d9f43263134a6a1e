"""One contract (base.py), one engine a folder: sqlite/ for a single machine, kafka/ for clusters.

The URL's scheme is the folder's name. A new engine is a new folder, which offers

    connect(url, *, create)   the Broker behind a URL
    check(url, *, copies)     raises BrokerError for what is wrong before anything is connected to
    reach(url, seconds)       where it may be away: raises BrokerError when it does not answer
    restoring(url)            where it can: messages at given offsets and times (restoration.py)

background.py, gap.py, prefix.py and sizes.py are what engines share, waiting.py is for topics that others
create.
"""

import importlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType

from mentor_stream.broker.base import (
    EARLIEST,
    Bounds,
    Broker,
    BrokerError,
    BrokerUnavailable,
    Claimed,
    Consumer,
    Message,
    MessageTooLarge,
    OffsetGap,
    OnGap,
    Outgoing,
    Producer,
    Reader,
    Receipt,
    TopicPartition,
    TopicSpec,
    TopicState,
    UnknownTopic,
)
from mentor_stream.broker.restoration import Restoration
from mentor_stream.broker.waiting import wait_for_topics


def connect(url: str, *, create: bool = True) -> AbstractAsyncContextManager[Broker]:
    """A connection to the broker behind `url`.

    Without `create` a broker that is a file must exist already: for those who only look.
    Raises BrokerError for a URL of no known engine; entering the context raises BrokerUnavailable.
    """
    return _engine(url).connect(url, create=create)


def restoring(url: str) -> AbstractAsyncContextManager[Restoration]:
    """Messages at the offsets and times that they had elsewhere. Raises BrokerError where that cannot be."""
    engine = _engine(url)
    if not hasattr(engine, "restoring"):
        raise BrokerError(
            f"run.broker begins with {url.partition(':')[0]}: a cluster gives offsets and times itself, and "
            "those of an archive would be lost; let run.broker name a file, sqlite:///path.db"
        )
    return engine.restoring(url)


def check(url: str, *, copies: int = 1) -> None:
    """Raises BrokerError for what cannot be, before anything is connected to, with `copies` of a topic."""
    try:
        _engine(url).check(url, copies=copies)
    except ValueError as error:  # of urllib; its text holds no credentials
        raise BrokerError(f"run.broker is no URL: {error}") from error


async def reach(url: str, seconds: float) -> None:
    """Raises BrokerError where a cluster does not answer within `seconds`. A file is made when missing."""
    engine = _engine(url)
    if hasattr(engine, "reach"):
        await engine.reach(url, seconds)


def _engine(url: str) -> ModuleType:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _schemes():
        known = " or ".join(f"{known}://" for known in _schemes())
        raise BrokerError(f"run.broker is {url!r}: expected a URL that starts with {known}")
    return importlib.import_module(f"{__name__}.{scheme}")


def _schemes() -> list[str]:
    """Of the engines there are: the folders beside this file."""
    return sorted(made.parent.name for place in __path__ for made in Path(place).glob("*/__init__.py"))


__all__ = [
    "EARLIEST",
    "Bounds",
    "Broker",
    "BrokerError",
    "BrokerUnavailable",
    "Claimed",
    "Consumer",
    "Message",
    "MessageTooLarge",
    "OffsetGap",
    "OnGap",
    "Outgoing",
    "Producer",
    "Reader",
    "Receipt",
    "Restoration",
    "TopicPartition",
    "TopicSpec",
    "TopicState",
    "UnknownTopic",
    "check",
    "connect",
    "reach",
    "restoring",
    "wait_for_topics",
]
