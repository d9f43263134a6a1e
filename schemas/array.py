"""Token ids and log-probabilities as raw little-endian bytes: tens of times faster than lists."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from schemas.record import Part

_WIRE = {"int32": np.dtype("<i4"), "float32": np.dtype("<f4")}


class Array(Part, frozen=True, kw_only=True, array_like=True):
    """A one-dimensional array: its dtype's name and its little-endian bytes."""

    dtype: Literal["int32", "float32"]
    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) % 4:
            raise ValueError(f"{len(self.data)} bytes are no whole number of {self.dtype} values")

    def __len__(self) -> int:
        return len(self.data) // 4

    def numpy(self) -> NDArray[Any]:
        """The values [n], read-only, sharing the record's memory."""
        return np.frombuffer(self.data, dtype=_WIRE[self.dtype])


def ids(values: "Iterable[int] | NDArray[Any]") -> Array:
    """Token ids [n] as int32. Raises OverflowError for an id that does not fit."""
    wide = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)
    narrow = wide.astype(_WIRE["int32"])
    if not np.array_equal(wide, narrow):
        raise OverflowError("a token id does not fit in 32 bits")
    return Array(dtype="int32", data=narrow.tobytes())


def floats(values: "Iterable[float] | NDArray[Any]") -> Array:
    """Log-probabilities [n] as float32."""
    narrow = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=_WIRE["float32"])
    return Array(dtype="float32", data=narrow.tobytes())
