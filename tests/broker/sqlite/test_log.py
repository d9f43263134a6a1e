"""Messages in the file, without any process around them."""

import sqlite3
from collections.abc import Iterator

import pytest

from mentor_stream.broker.base import TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import catalog, log
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.log import Entry, Span
from mentor_stream.broker.sqlite.schema import open_file

PLACES = [TopicPartition("topic", number) for number in range(3)]


@pytest.fixture
def connection(tmp_path) -> Iterator[sqlite3.Connection]:
    connection = open_file(Location(tmp_path / "stream.db"), "normal")
    catalog._create(connection, TopicSpec("topic", len(PLACES)))
    yield connection
    connection.close()


def append(connection: sqlite3.Connection, *partitions: int) -> None:
    """One message of 100 bytes after the other into these partitions (1, 2, 3), each a tick later."""
    for partition in partitions:
        log.append(connection, [Entry(partition, b"key", bytes(100), b"")])


def spans(**first: int) -> list[Span]:
    return [Span(i + 1, place, first.get(f"p{i}", 0), log.END) for i, place in enumerate(PLACES)]


def places(fetched: log.Fetched) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in fetched.messages]


def test_what_is_fetched_together_comes_in_the_order_of_appending(connection):
    append(connection, 3, 1, 2, 1, 3)
    fetched = log.fetch(connection, spans(), count=10, size=10_000)
    assert places(fetched) == [(2, 0), (0, 0), (1, 0), (0, 1), (2, 1)]
    assert not fetched.cut


def test_a_partition_with_a_long_backlog_leaves_room_for_the_others(connection):
    append(connection, *[1] * 20, 2, 3, 3, 3, 3)
    fetched = log.fetch(connection, spans(), count=6, size=10_000)
    assert sorted(places(fetched)) == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    assert fetched.cut


def test_fetching_stops_at_the_size_but_never_before_one_message(connection):
    append(connection, 1, 1, 1, 2)
    assert places(log.fetch(connection, spans(), count=10, size=150)) == [(0, 0), (0, 1)]
    assert places(log.fetch(connection, spans(), count=10, size=1)) == [(0, 0)]
    assert log.fetch(connection, spans(), count=10, size=1).cut


def test_fetching_leaves_no_statement_open_that_would_hold_the_wal(connection):
    append(connection, 1, 1, 1)
    log.fetch(connection, spans(), count=1, size=1)
    busy, in_wal, moved = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert (busy, in_wal, moved) == (0, 0, 0)


def test_partitions_do_not_run_into_each_other(connection):
    append(connection, 1, 2)
    assert places(log.fetch(connection, spans(p0=1, p1=1), count=10, size=10_000)) == []
    assert log.bounds(connection, 1) == log.bounds(connection, 2) == (0, 1)
    assert log.bounds(connection, 3) == (0, 0)
