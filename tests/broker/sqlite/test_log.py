"""Messages in the file, without any process around them."""

import random
import sqlite3
from collections.abc import Iterator

import pytest

from mentor_stream.broker.base import EARLIEST, Bounds, BrokerError, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import catalog, log
from mentor_stream.broker.sqlite.compression import Stored, pack
from mentor_stream.broker.sqlite.location import Location
from mentor_stream.broker.sqlite.log import Entry, Span
from mentor_stream.broker.sqlite.schema import open_file

PLACES = [TopicPartition("topic", number) for number in range(3)]


@pytest.fixture
def connection(tmp_path) -> Iterator[sqlite3.Connection]:
    connection = open_file(Location(tmp_path / "stream.db"), durable=False)
    catalog.create(connection, [TopicSpec("topic", len(PLACES))])
    yield connection
    connection.close()


def append(connection: sqlite3.Connection, *partitions: int) -> None:
    """One message of 100 bytes after the other into these partitions (1, 2, 3), each a tick later."""
    for partition in partitions:
        log.append(connection, [Entry(partition, b"key", b"", Stored(0, bytes(100)))])


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


def forget(connection: sqlite3.Connection, partition: int, bytes_kept: int, most: int = 100) -> bool:
    return log.trim(connection, partition, oldest=None, most_bytes=bytes_kept, most=most)


def test_a_span_that_begins_before_what_is_kept_brings_no_message_but_what_is_kept(connection):
    append(connection, 1, 1, 1, 2)
    forget(connection, 1, 150)
    fetched = log.fetch(connection, spans(p0=1), count=10, size=10_000)
    assert places(fetched) == [(1, 0)]
    assert fetched.kept == {PLACES[0]: Bounds(2, 3)}


def test_a_span_that_begins_beyond_the_end_tells_what_is_kept(connection):
    append(connection, 1)
    assert log.fetch(connection, spans(p0=2), count=10, size=10_000).kept == {PLACES[0]: Bounds(0, 1)}
    assert log.fetch(connection, spans(p0=1), count=10, size=10_000).kept == {}


def test_a_span_from_the_earliest_message_brings_what_is_kept_and_tells_it(connection):
    append(connection, 1, 1, 1)
    forget(connection, 1, 250)
    fetched = log.fetch(connection, spans(p0=EARLIEST, p1=EARLIEST), count=10, size=10_000)
    assert places(fetched) == [(0, 1), (0, 2)]
    assert fetched.kept == {PLACES[0]: Bounds(1, 3), PLACES[1]: Bounds(0, 0)}


def test_a_trim_stops_at_its_most_and_says_that_there_is_more(connection):
    append(connection, *[1] * 10)
    assert forget(connection, 1, 103, most=6)
    assert log.bounds(connection, 1) == (6, 10)
    assert not forget(connection, 1, 103, most=6)
    assert log.bounds(connection, 1) == (9, 10)


def test_the_size_of_a_partition_is_of_what_is_stored_and_shrinks_with_it(connection):
    assert log.size(connection, [1, 2, 3]) == 0
    value = pack(bytes(100_000), "gzip")
    log.append(connection, [Entry(1, b"key", b"", value)])
    append(connection, 1, 2)
    assert log.size(connection, [1, 2, 3]) == 3 + len(value.data) + 2 * 103
    forget(connection, 1, 103)
    assert log.size(connection, [1, 2, 3]) == 2 * 103


def test_fetching_counts_the_size_of_values_as_they_are_handed_out(connection):
    log.append(connection, [Entry(1, b"key", b"", pack(bytes(100_000), "gzip"))] * 3)
    assert len(log.fetch(connection, spans(), count=10, size=150_000).messages) == 2


def test_a_compressed_value_that_is_damaged_says_so(connection):
    codec, data = pack(bytes(1_000), "gzip")
    log.append(connection, [Entry(1, b"key", b"", Stored(codec, data[:-9]))])
    with pytest.raises(BrokerError, match="a compressed message in the file is damaged"):
        log.fetch(connection, spans(), count=10, size=10_000)


@pytest.mark.parametrize("name", ["gzip", "lz4"])
def test_a_value_that_compression_does_not_shrink_is_kept_as_it_is(name):
    for value in b"", b"short", random.Random(0).randbytes(1_000):
        assert pack(value, name) == Stored(0, value)
