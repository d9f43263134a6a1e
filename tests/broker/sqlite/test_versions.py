"""Files of version 1: they are opened, brought up, and lose nothing, whoever dies meanwhile."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, Bounds, BrokerError, TopicPartition, TopicSpec

pytestmark = pytest.mark.anyio

VERSION_1 = """
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
    value BLOB NOT NULL
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
    committed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (consumers, partition)
) STRICT, WITHOUT ROWID;
"""
"""As that program wrote them."""

PLACES = [TopicPartition("topic", number) for number in range(2)]
KEY = b"4"
"""Of partition 0."""
VALUES = [b"value-%d" % number * 5_000 for number in range(3, 8)]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A stream with messages 3 to 7 in partition 0 and none in 1; "group" committed up to 4."""
    path = tmp_path / "stream.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 16384")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(VERSION_1)
        connection.execute(f"PRAGMA application_id = {int.from_bytes(b'MtSt', 'big')}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO topics VALUES (1, 'topic', NULL, 10000000, 1000000)")
        connection.execute(
            "INSERT INTO partitions VALUES (1, 1, 0, 3, 8, ?, 1007.0)", (sum(map(len, VALUES)),)
        )
        connection.execute("INSERT INTO partitions VALUES (2, 1, 1, 0, 0, 0, 0.0)")
        connection.executemany(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
            [((1 << 40) + n, 1_000.0 + n, b"key", b"", value) for n, value in enumerate(VALUES, start=3)],
        )
        connection.executemany(
            "INSERT INTO assignments (consumers, partition, committed) VALUES (?, ?, ?)",
            [("group", 1, 4), ("group", 2, 0), ("idle", 1, 0), ("idle", 2, 0)],
        )
    return path


async def test_what_a_file_of_version_1_holds_is_read(old):
    async with brokers.connect(f"sqlite:///{old}") as broker:
        assert (await broker.describe("topic")).spec == TopicSpec(
            "topic", partitions=2, retention_bytes=10_000_000, max_message_bytes=1_000_000
        )
        assert await broker.bounds("topic") == {PLACES[0]: Bounds(3, 8), PLACES[1]: Bounds(0, 0)}
        assert (await broker.offsets_at("topic", 1_005.0))[PLACES[0]] == 5
        async with broker.reader(dict.fromkeys(PLACES, EARLIEST), follow=False) as reader:
            assert [message.value async for message in reader] == VALUES


async def test_groups_of_version_1_go_on_where_they_were_and_begin_where_they_had_not_begun(old):
    async with brokers.connect(f"sqlite:///{old}") as broker:
        for group, expected in ("group", 4), ("idle", 3):
            assert await broker.lag("topic", group) == 8 - expected
            async with broker.consumer(["topic"], group=group) as consumer:
                with anyio.fail_after(10):
                    assert (await anext(aiter(consumer))).offset == expected


async def test_old_and_compressed_new_messages_stand_in_one_partition(old):
    async with brokers.connect(f"sqlite:///{old}?compression=gzip") as broker, broker.producer() as producer:
        before = (await broker.describe("topic")).size_bytes
        assert (await producer.send("topic", KEY, VALUES[0]))[:2] == PLACES[0]
        assert (await broker.describe("topic")).size_bytes < before + 1_000
        async with broker.reader({PLACES[0]: 3}, follow=False) as reader:
            assert [message.value async for message in reader] == [*VALUES, VALUES[0]]


async def test_a_file_brought_up_has_the_tables_of_a_new_one(old, tmp_path):
    new = tmp_path / "new.db"
    for path in (old, new):
        async with brokers.connect(f"sqlite:///{path}"):
            pass
    assert columns(old) == columns(new)


def columns(path: Path) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        return {
            (table, *column)
            for table in tables
            for column in connection.execute(f"PRAGMA table_info({table})")
        }


async def test_a_program_of_version_1_that_has_the_file_open_fails_rather_than_read_compressed_values(old):
    with closing(sqlite3.connect(old)) as program:
        select = "SELECT id, time, key, headers, value FROM messages"
        assert len(program.execute(select).fetchall()) == len(VALUES)
        async with brokers.connect(f"sqlite:///{old}"):
            with pytest.raises(sqlite3.OperationalError, match="no such column: value"):
                program.execute(select)


OPEN = """
import anyio, sys
from mentor_stream import broker as brokers

async def main():
    async with brokers.connect(sys.argv[1]) as broker:
        print(len(await broker.topics()))

anyio.run(main, backend="trio")
"""

DIE_AMID = """
import os, signal
from mentor_stream.broker.sqlite import schema

class Deadly(str):
    def split(self, separator):
        yield from str.split(self, separator)[:2]
        os.kill(os.getpid(), signal.SIGKILL)

schema.FROM_1, schema.TABLES = Deadly(schema.FROM_1), Deadly(schema.TABLES)
""" + OPEN  # fmt: skip


def started(code: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, f"sqlite:///{path}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("topics", [1, 0])
def test_many_processes_bring_a_file_up_or_create_it_at_once(old, tmp_path, topics):
    path = old if topics else tmp_path / "new.db"
    processes = [started(OPEN, path) for _ in range(5)]
    assert [process.communicate(timeout=60)[0] for process in processes] == [f"{topics}\n"] * 5


@pytest.mark.parametrize("topics", [1, 0])
def test_a_process_that_is_killed_while_it_brings_a_file_up_or_creates_it_leaves_that_to_the_next(
    old, tmp_path, topics
):
    path = old if topics else tmp_path / "new.db"
    assert started(DIE_AMID, path).wait(timeout=60) == -signal.SIGKILL
    assert started(OPEN, path).communicate(timeout=60)[0] == f"{topics}\n"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_stream_of_a_newer_program_is_refused(old):
    with closing(sqlite3.connect(old)) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(BrokerError, match="stream of version 99; this program reads 2"):
        async with brokers.connect(f"sqlite:///{old}"):
            pass
