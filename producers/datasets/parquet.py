"""Questions as a Parquet file, read batch by batch with pyarrow."""

from collections.abc import Iterator
from pathlib import Path

from producers.datasets.base import DatasetError, Record


def records(path: Path) -> Iterator[Record]:
    """See Format.records."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise DatasetError(f"{path}: reading Parquet needs pyarrow (pip install pyarrow)") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches(batch_size=1024) for row in batch.to_pylist())
            for number, columns in enumerate(rows, 1):
                yield Record(f"row {number}", columns)
    except pyarrow.ArrowException as error:
        raise DatasetError(f"{path}: not a readable Parquet file ({error})") from error
