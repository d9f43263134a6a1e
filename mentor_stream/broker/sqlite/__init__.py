"""The broker of a single machine: one SQLite file that several processes share, in WAL mode.

Start with broker.py, then log.py (the messages), catalog.py (the topics) and membership.py (consumer groups);
producer.py (with batch.py), consumer.py and reader.py are the asynchronous sides of them, restoration.py puts
archived messages back. location.py lists the options of the URL, schema.py the tables.

What holds here beyond the contract:

- Once a topic has more partitions, every message goes by the new number, whoever sends it: producers look
  inside the transaction that appends. So a key moves once, at one moment, but whoever reads its new partition
  may be ahead of whoever still reads the old one.
- Retention is enforced where messages are appended, on each partition about once a second. A topic that
  nobody appends to forgets nothing.
- The file never shrinks: the room of messages that are forgotten is used again.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from io import BytesIO

from mentor_stream.broker.base import Broker, BrokerError
from mentor_stream.broker.sqlite.broker import connected
from mentor_stream.broker.sqlite.location import parse
from mentor_stream.broker.sqlite.restoration import SqliteRestoration
from mentor_stream.broker.sqlite.restoration import restoring as restored

MAGIC = b"SQLite format 3\0"


def connect(url: str, *, create: bool = True) -> AbstractAsyncContextManager[Broker]:
    """The stream in the file that `url` names. Raises BrokerError for a URL that cannot be."""
    return connected(replace(parse(url), create=create))


def restoring(url: str) -> AbstractAsyncContextManager[SqliteRestoration]:
    """See broker.restoration. Raises BrokerError for a URL that cannot be."""
    return restored(parse(url))


def check(url: str, *, copies: int) -> None:
    """Raises BrokerError for a URL, or a file behind it, that cannot be. Creates nothing."""
    path = parse(url).path
    if copies > 1:
        raise BrokerError(
            f"topics.replication is {copies}: a SQLite file is the only copy. Take it out, or name a cluster"
        )
    try:
        nearest = next(place for place in (path, *path.parents) if place.exists())
        if nearest == path and not (path.is_file() or path.is_dir()):
            raise BrokerError(f"run.broker is {url!r}: it is no file. Name one, made when missing")
        with path.open("rb") if nearest == path else BytesIO() as file:
            begin = file.read(len(MAGIC))
    except OSError as error:
        raise BrokerError(
            f"run.broker is {url!r}: {error}. Name a file that can be read and written"
        ) from error
    if nearest != path and not nearest.is_dir():
        raise BrokerError(f"run.broker is {url!r}: {nearest} is not a directory. Name another place")
    if begin not in (b"", MAGIC):
        raise BrokerError(f"run.broker is {url!r}: the file is no database. Name another, made when missing")


__all__ = ["check", "connect", "restoring"]
