"""Questions as a Parquet file, read batch by batch with pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from producers.datasets.base import DatasetError, Record

BATCH_BYTES = 16 * 2**20
"""About so much is read at once."""


def records(path: Path) -> Iterator[Record]:
    """See Format.records."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise DatasetError(f"{path}: reading Parquet needs pyarrow (pip install pyarrow)") from error
    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=2**20) as file:
            batches = file.iter_batches(batch_size=_rows_at_once(file))
            rows = (row for batch in batches for row in batch.to_pylist())
            for number, columns in enumerate(rows, 1):
                yield Record(f"row {number}", columns)
    except pyarrow.ArrowException as error:
        raise DatasetError(f"{path}: not a readable Parquet file ({error})") from error


def _rows_at_once(file: Any) -> int:
    """As many rows as their mean size allows: those of code questions may be megabytes each."""
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    largest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1)
    return int(min(1024, max(1, BATCH_BYTES // max(1, largest))))
