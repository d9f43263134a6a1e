"""The broker of a single machine: one SQLite file that several processes share, in WAL mode.

Start with broker.py, then log.py (the messages) and membership.py (consumer groups); producer.py,
consumer.py and reader.py are the asynchronous sides of them. location.py lists the options of the URL.
"""

from contextlib import AbstractAsyncContextManager

from mentor_stream.broker.base import Broker
from mentor_stream.broker.sqlite.broker import connected
from mentor_stream.broker.sqlite.location import parse


def connect(url: str) -> AbstractAsyncContextManager[Broker]:
    """The stream in the file that `url` names. Raises BrokerError for a URL that cannot be."""
    return connected(parse(url))


__all__ = ["connect"]
