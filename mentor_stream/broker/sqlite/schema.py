"""The stream's file: its tables, and how it is opened, created or refused.

A message's row id holds its partition and its offset, so the log needs no index: append order is key
order, a partition is a range, and its times never decrease, so that times are found by bisection.
"""

import sqlite3

from mentor_stream.broker.base import BrokerError
from mentor_stream.broker.sqlite.location import Location

APPLICATION = int.from_bytes(b"MtSt", "big")
VERSION = 2
PAGE_BYTES = 16_384
CACHE_KIBIBYTES = 16_384
"""Of a connection that appends: a batch of messages has room in it."""
READ_CACHE_KIBIBYTES = 4_096
WAL_BYTES = 64 * 2**20
LOCK_SECONDS = 0.008
"""How long SQLite itself waits for a lock; Database asks again until the time-out."""

TABLES = """
CREATE TABLE catalog (version INTEGER NOT NULL) STRICT;
INSERT INTO catalog VALUES (0);
CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    retention_seconds REAL,
    retention_bytes INTEGER,
    max_message_bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL REFERENCES topics,
    number INTEGER NOT NULL,
    first INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    latest REAL NOT NULL DEFAULT 0,
    UNIQUE (topic, number)
) STRICT;
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    key BLOB NOT NULL,
    headers BLOB NOT NULL,
    stored BLOB NOT NULL,
    codec INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE members (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    consumers TEXT NOT NULL,
    topics TEXT NOT NULL,
    seen REAL NOT NULL,
    lease REAL NOT NULL,
    UNIQUE (consumers, name)
) STRICT;
CREATE TABLE assignments (
    consumers TEXT NOT NULL,
    partition INTEGER NOT NULL REFERENCES partitions,
    wanted TEXT,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    committed INTEGER NOT NULL DEFAULT 0, -- EARLIEST (-1) until the first commit
    PRIMARY KEY (consumers, partition)
) STRICT, WITHOUT ROWID;
"""

FROM_1 = """
ALTER TABLE messages RENAME COLUMN value TO stored;
ALTER TABLE messages ADD COLUMN codec INTEGER NOT NULL DEFAULT 0;
UPDATE assignments SET committed = -1 WHERE committed = 0;
CREATE TABLE catalog (version INTEGER NOT NULL) STRICT;
INSERT INTO catalog VALUES (0);
"""
"""Renaming stops programs of version 1 that have the file open: they expect no compressed values."""


def open_file(location: Location, *, durable: bool) -> sqlite3.Connection:
    """A connection to the stream at `location`, created when there is none, brought up when it is older.

    One that is not `durable` may lose its last writes in a power failure.
    Raises BrokerError for a file that is something else or, where none is to be made, is not there;
    sqlite3.Error for what SQLite refuses.
    """
    if not location.create and not location.path.exists():
        raise BrokerError(
            f"run.broker is the file {location.path}, which does not exist yet: a run makes it, and so does "
            "`mentor-stream topics create CONFIG`"
        )
    location.path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        location.path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("BEGIN")  # one snapshot: another process may be creating the tables just now
        version = _version(connection, location)
        connection.execute("COMMIT")
        if version == 0:
            _share(connection, location)
        if version < VERSION:
            _bring_up(connection, location)
        connection.execute(f"PRAGMA synchronous = {location.synchronous if durable else 'normal'}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES if durable else READ_CACHE_KIBIBYTES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        connection.execute("PRAGMA secure_delete = off")  # some builds write zeros over what retention takes
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, location: Location) -> int:
    """The version of the stream, 0 for an empty file. Nothing is written to a foreign file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application == APPLICATION and version > VERSION:
        raise BrokerError(
            f"{location.path} is a stream of version {version}; this program reads {VERSION}: use the "
            "program that wrote it, or let run.broker name a new file"
        )
    if application != APPLICATION and (tables or application):
        raise BrokerError(
            f"{location.path} is a database of something else: let run.broker name another file"
        )
    return version if application == APPLICATION else 0


def _share(connection: sqlite3.Connection, location: Location) -> None:
    """Let several processes use the new file at once."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise BrokerError(
            f"{location.path}: its file system cannot share memory between processes; "
            "let run.broker name a file on a local disk"
        )


def _bring_up(connection: sqlite3.Connection, location: Location) -> None:
    """Create the tables, or make those of an older version ours; SQLITE_BUSY while another process does."""
    connection.execute("BEGIN IMMEDIATE")
    script = {0: TABLES, 1: FROM_1}.get(_version(connection, location), "")
    for statement in script.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
