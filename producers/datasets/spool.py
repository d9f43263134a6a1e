"""Rows in a file of their own, so that a dataset may be larger than memory and any row of it is at hand."""

import tempfile
from array import array
from collections.abc import Sequence
from typing import overload

import msgspec
import numpy as np

from producers.datasets.base import DatasetError, Row

IN_MEMORY = 64 * 2**20
"""Bytes of rows that need no file."""


class Spool(Sequence[Row]):
    """Rows in the order in which they were added, 16 bytes of memory each. For one thread at a time.

    The file is in TMPDIR, has no name, and is gone with the process.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115  lives as long as this
        self._starts, self._ends = array("q"), array("q")
        self._end = 0

    def append(self, row: Row) -> None:
        """Add a row. Raises DatasetError when there is no room for it on disk."""
        data = msgspec.msgpack.encode(row)
        try:
            self._file.seek(self._end)
            self._file.write(data)
        except OSError as error:
            place = tempfile.gettempdir()
            raise DatasetError(
                f"{place}: no room for the questions ({error.strerror}). Set TMPDIR to a directory with "
                "about the size of the dataset to spare."
            ) from error
        self._starts.append(self._end)
        self._end += len(data)
        self._ends.append(self._end)

    def drop(self, rows: np.ndarray) -> None:
        """Leave out these rows."""
        kept = ~np.isin(np.arange(len(self)), rows)
        self._starts, self._ends = (
            array("q", np.frombuffer(places, np.int64)[kept].tobytes())
            for places in (self._starts, self._ends)
        )

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        start, end = self._starts[index], self._ends[index]
        self._file.seek(start)
        return msgspec.msgpack.decode(self._file.read(end - start), type=Row)
