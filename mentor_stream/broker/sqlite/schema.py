"""The stream's file: its tables, and how it is opened, created or refused.

A message's row id holds its partition and its offset, so the log needs no index: append order is key
order, a partition is a range, and its times never decrease, so that times are found by bisection.
"""

import sqlite3

from mentor_stream.broker.base import BrokerError
from mentor_stream.broker.sqlite.location import Location

APPLICATION = int.from_bytes(b"MtSt", "big")
VERSION = 1
PAGE_BYTES = 16_384
CACHE_KIBIBYTES = 16_384
WAL_BYTES = 64 * 2**20
LOCK_SECONDS = 0.008
"""How long SQLite itself waits for a lock; Database asks again until the time-out."""

TABLES = """
CREATE TABLE IF NOT EXISTS topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    retention_seconds REAL,
    retention_bytes INTEGER,
    max_message_bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS partitions (
    id INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL REFERENCES topics,
    number INTEGER NOT NULL,
    first INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    latest REAL NOT NULL DEFAULT 0,
    UNIQUE (topic, number)
) STRICT;
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    key BLOB NOT NULL,
    headers BLOB NOT NULL,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS members (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    consumers TEXT NOT NULL,
    topics TEXT NOT NULL,
    seen REAL NOT NULL,
    lease REAL NOT NULL,
    UNIQUE (consumers, name)
) STRICT;
CREATE TABLE IF NOT EXISTS assignments (
    consumers TEXT NOT NULL,
    partition INTEGER NOT NULL REFERENCES partitions,
    wanted TEXT,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    committed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (consumers, partition)
) STRICT, WITHOUT ROWID;
"""


def open_file(location: Location, synchronous: str) -> sqlite3.Connection:
    """A connection to the stream at `location`, created when there is none.

    Raises BrokerError for a file that is something else, sqlite3.Error for what SQLite refuses.
    """
    location.path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        location.path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        if not _is_ours(connection, location):
            _create(connection, location)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_ours(connection: sqlite3.Connection, location: Location) -> bool:
    """Whether the file is a stream; False for an empty one. Nothing is written to a foreign file."""
    connection.execute("BEGIN")  # one snapshot: another process may be creating the tables just now
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    connection.execute("COMMIT")
    if application == APPLICATION and version == VERSION:
        return True
    if application == APPLICATION:
        raise BrokerError(
            f"{location.path} is a stream of version {version}; this program reads {VERSION}: use the "
            "program that wrote it, or let run.broker name a new file"
        )
    if tables or application:
        raise BrokerError(
            f"{location.path} is a database of something else: let run.broker name another file"
        )
    return False


def _create(connection: sqlite3.Connection, location: Location) -> None:
    """Make the file a stream; another process may do the same at once, or raise SQLITE_BUSY here."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise BrokerError(
            f"{location.path}: its file system cannot share memory between processes; "
            "let run.broker name a file on a local disk"
        )
    script = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {script} COMMIT;")
