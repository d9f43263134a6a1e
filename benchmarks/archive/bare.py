"""python -m benchmarks.archive.bare WAY SOURCE RUN TARGET: a copy with bare clients; prints as ours.py.

Messages go as they are: nothing is decoded, digested, checked or kept from being half written.
"""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet

from benchmarks.archive.ours import megabytes

BATCH = 1_000
NAMES = ("id", "time", "key", "headers", "stored", "codec")
KINDS = (
    pyarrow.int64(), pyarrow.float64(), pyarrow.binary(), pyarrow.binary(), pyarrow.binary(), pyarrow.int64(),
)  # fmt: skip
SCHEMA = pyarrow.schema(list(zip(NAMES, KINDS, strict=True)))
Rows = list[tuple[Any, ...]]


def main(way: str, source: str, run: str, target: str) -> None:
    """Make it, and print."""
    before, began = megabytes(), time.perf_counter()
    if source.startswith("kafka://"):
        rows = of_kafka(source.removeprefix("kafka://"), f"{run}.collapsed")
    elif way == "import.parquet":
        rows = of_parquet(source)
    else:
        rows = of_sqlite(source.removeprefix("sqlite:///").partition("?")[0])
    count = into_parquet(rows, target) if way == "export.parquet" else into_sqlite(rows, target)
    print(json.dumps([count / (time.perf_counter() - began), megabytes() - before]))


def of_sqlite(path: str) -> Iterator[Rows]:
    """The rows of our own table."""
    found = sqlite3.connect(path).execute(f"SELECT {', '.join(NAMES)} FROM messages ORDER BY id")
    while part := found.fetchmany(BATCH):
        yield part


def of_parquet(path: str) -> Iterator[Rows]:
    """The rows of a bare file."""
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=BATCH):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def of_kafka(servers: str, topic: str) -> Iterator[Rows]:
    """What the topic holds."""
    from kafka import KafkaConsumer
    from kafka.structs import TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    left, number = sum(consumer.end_offsets(places).values()), 0
    while left:
        polled = consumer.poll(timeout_ms=200, max_records=BATCH)
        part = [record for records in polled.values() for record in records]
        yield [(number + n, r.timestamp / 1000, r.key, b"", r.value, 0) for n, r in enumerate(part)]
        left, number = left - len(part), number + len(part)
    consumer.close()


def into_parquet(rows: Iterator[Rows], target: str) -> int:
    """Write them; how many."""
    count = 0
    with pyarrow.parquet.ParquetWriter(
        target, SCHEMA, compression="zstd", compression_level=1, use_dictionary=False
    ) as writer:
        for part in filter(None, rows):
            count += len(part)
            columns = zip(zip(*part, strict=True), KINDS, strict=True)
            arrays = [pyarrow.array(column, kind) for column, kind in columns]
            writer.write_batch(pyarrow.record_batch(arrays, schema=SCHEMA))
    _sync(target)
    return count


def into_sqlite(rows: Iterator[Rows], target: str) -> int:
    """Write them; how many."""
    count, connection = 0, sqlite3.connect(target)
    connection.execute("PRAGMA page_size = 16384")
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, time, key, headers, stored, codec)")
    for part in filter(None, rows):
        count += len(part)
        connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", part)
        connection.commit()
    connection.close()
    _sync(target)
    return count


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


if __name__ == "__main__":
    main(*sys.argv[1:])
