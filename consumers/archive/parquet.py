"""An archive as one Parquet file: a row a message, its bytes as they are, and what they say in columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from consumers.archive import manifest
from consumers.archive.columns import Columns, columns
from consumers.archive.manifest import ArchiveError, Manifest
from consumers.archive.tally import nanoseconds, seconds_of
from mentor_stream.broker import Message
from mentor_stream.topics import Topic

KEY = b"mentor_stream.archive"
"""Of the manifest, in the file's own metadata."""
_HEADERS = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
_BYTES = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("time", pa.timestamp("ns", tz="UTC")),
    ("key", pa.binary()),
    ("headers", _HEADERS),
    ("value", pa.binary()),
]
_DECODED = {
    "policy_version": pa.int64(),
    "verdicts": pa.list_(pa.string()),
    "rewards": pa.list_(pa.float64()),
    "lengths": pa.list_(pa.int32()),
}
SCHEMA = pa.schema(
    [
        *(pa.field(*column, nullable=False) for column in _BYTES),
        *((name, _DECODED.get(name, pa.string())) for name in Columns._fields),
    ]
)
_ORDERED = ["topic", "partition", "offset", "time", "policy_version"]
_REPEATED = ["topic", "record", "origin", "guide", "outcome", "hint", "question"]


class Writer:
    """Writes one; without `close` it is none. Each batch is a row group."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetWriter(
            path.absolute(),  # else a name with a colon is taken for a URL
            SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=_REPEATED,  # pyright: ignore[reportArgumentType]
            write_statistics=_ORDERED,  # pyright: ignore[reportArgumentType]
            write_page_checksum=True,
        )

    def append(self, topic: Topic[Any], messages: Sequence[Message]) -> None:
        """Write messages of a topic, one batch."""
        raw = [
            [topic.name] * len(messages),
            [m.partition for m in messages],
            [m.offset for m in messages],
            pa.array([nanoseconds(m.timestamp) for m in messages], pa.timestamp("ns", tz="UTC")),
            [m.key for m in messages],
            [[{"name": name, "value": text} for name, text in m.headers] for m in messages],
            [m.value for m in messages],
        ]
        decoded = zip(*(columns(topic, m.value) for m in messages), strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip([*raw, *decoded], SCHEMA, strict=True)]
        self._file.write_batch(pa.record_batch(arrays, schema=SCHEMA))

    def close(self, of: Manifest) -> None:
        """The file is whole."""
        self._file.add_key_value_metadata({KEY: manifest.encode(of)})
        self._file.close()


class Archive:
    """A Parquet file that is read again. Raises ArchiveError for one that is none, or no whole one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = pq.ParquetFile(path.absolute(), page_checksum_verification=True, buffer_size=2**20)
            self.manifest = manifest.decode((self._file.metadata.metadata or {})[KEY])
        except KeyError as error:
            raise ArchiveError(f"{path} is no archive of a run: mentor-stream export writes them.") from error
        except (pa.ArrowException, OSError, ArchiveError) as error:
            raise _unreadable(path, error) from error

    def batches(self) -> Iterator[tuple[str, list[Message]]]:
        """Messages by the name of their topic, a row group at a time."""
        for number in range(self._file.num_row_groups):
            try:
                table = self._file.read_row_group(number, use_threads=False)
                rows = [table.column(name).to_pylist() for name, _ in _BYTES if name != "time"]
                times = table.column("time").cast(pa.int64()).to_pylist()
                messages = [
                    Message(t, p, o, k, v, seconds_of(time), tuple((h["name"], h["value"]) for h in headers))
                    for t, p, o, k, headers, v, time in zip(*rows, times, strict=True)
                ]
            except (pa.ArrowException, OSError, TypeError, ValueError, KeyError) as error:
                raise _unreadable(self._path, error) from error
            yield from _by_topic(messages)


def _by_topic(messages: list[Message]) -> Iterator[tuple[str, list[Message]]]:
    for topic in dict.fromkeys(message.topic for message in messages):
        yield topic, [message for message in messages if message.topic == topic]


def _unreadable(path: Path, error: Exception) -> ArchiveError:
    return ArchiveError(
        f"{path} is damaged, cut or no archive: {str(error).rstrip('.')}. Export it again, or fetch it anew."
    )
