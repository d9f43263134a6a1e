"""sqlite3 alone, on a table like ours in a file set up like ours."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.broker.load import PREFETCH, Load, Spent, Stopwatch
from mentor_stream.broker.base import BUFFER_BYTES
from mentor_stream.broker.sqlite.schema import CACHE_KIBIBYTES, PAGE_BYTES, WAL_BYTES

TABLE = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, key BLOB NOT NULL, headers BLOB NOT NULL, value BLOB NOT NULL
) STRICT
"""
APPEND = "INSERT INTO messages (time, key, headers, value) VALUES (?, ?, ?, ?)"
READ = "SELECT id, time, key, headers, value FROM messages WHERE id > ? ORDER BY id LIMIT ?"


class BareSqlite:
    """A file of its own. It commits as many records at once as ours did on average in the same round."""

    def __init__(self, own: Path, ours: Path, synchronous: str) -> None:
        self._own, self._ours, self._synchronous = own, ours, synchronous

    def produce(self, load: Load) -> Spent:
        """Appends, a transaction after the other."""
        batch, value = 1 if load.senders == 1 else self.batch_of_ours(), load.value
        with closing(self._opened()) as connection:
            connection.execute(TABLE)
            watch = Stopwatch()
            for first in range(0, load.count, batch):
                numbers = range(first, min(first + batch, load.count))
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(APPEND, ((time.time(), str(n).encode(), b"", value) for n in numbers))
                connection.execute("COMMIT")
            return watch.spent(load, load.count)

    def consume(self, load: Load) -> Spent:
        """Reads on from the last record it had, as many at a time as ours fetches ahead."""
        batch = max(1, min(PREFETCH, BUFFER_BYTES // load.size))
        with closing(self._opened()) as connection:
            watch, begun, seen, last = Stopwatch(), 0, 0, 0
            while rows := connection.execute(READ, (last, batch)).fetchall():
                last = rows[-1][0]
                seen += len(rows)
                if not begun and seen >= load.begin:
                    watch, begun = Stopwatch(), seen
            return watch.spent(load, seen - begun)

    def batch_of_ours(self) -> int:
        """Records per transaction, on average: those of one transaction and partition have one time."""
        with closing(sqlite3.connect(self._ours)) as connection:
            (records,) = connection.execute("SELECT count(*) FROM messages").fetchone()
            commits = "SELECT count(DISTINCT time) AS times FROM messages GROUP BY id >> 40"
            (transactions,) = connection.execute(f"SELECT max(times) FROM ({commits})").fetchone()
        return max(1, round(records / transactions))

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._own, isolation_level=None)
        for pragma in (
            f"page_size = {PAGE_BYTES}",
            "journal_mode = WAL",
            f"synchronous = {self._synchronous}",
            f"cache_size = -{CACHE_KIBIBYTES}",
            f"journal_size_limit = {WAL_BYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection
