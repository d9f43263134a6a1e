"""Questions in a directory that `save_to_disk` of Hugging Face's datasets wrote: Arrow files.

pyarrow reads them, memory-mapped; the library itself is not needed.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from producers.datasets.base import DatasetError, Record

STATE, SPLITS = "state.json", "dataset_dict.json"
SLICE = 32
"""Rows brought to Python at once: they may be megabytes each."""


def is_saved(path: Path) -> bool:
    """Whether a directory was written by save_to_disk."""
    return (path / STATE).is_file() or (path / SPLITS).is_file()


def records(path: Path, setting: str) -> Iterator[Record]:
    """All rows in order. Raises DatasetError for one that holds several splits, or is damaged."""
    if (path / SPLITS).is_file():
        splits = sorted(split.name for split in path.iterdir() if (split / STATE).is_file())
        raise DatasetError(
            f"{setting} is {str(path)!r}: it holds the splits {', '.join(splits)}. Name one of them, such as "
            f"{str(path / (splits[0] if splits else 'train'))!r}."
        )
    return _rows(path, _files(path))


def _files(path: Path) -> list[Path]:
    """The Arrow files in their order, as the state names them: names only, nothing elsewhere."""
    try:
        state = json.loads((path / STATE).read_bytes())
        names = [Path(file["filename"]).name for file in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DatasetError(f"{path / STATE}: not what save_to_disk writes ({error!r})") from error
    if state.get("_indices_data_files"):
        raise DatasetError(
            f"{path}: rows are picked by an index file of an old version of datasets. Load and save it again."
        )
    return [path / name for name in names]


def _rows(path: Path, files: list[Path]) -> Iterator[Record]:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise DatasetError(f"{path}: reading Arrow files needs pyarrow (pip install pyarrow)") from error
    number = 0
    for file in files:
        try:
            with pyarrow.memory_map(str(file)) as source:
                for batch in pyarrow.ipc.open_stream(source):
                    for start in range(0, batch.num_rows, SLICE):
                        for columns in batch.slice(start, SLICE).to_pylist():
                            number += 1
                            yield Record(f"row {number}", columns)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DatasetError(f"{file}: not a readable Arrow file ({error})") from error
