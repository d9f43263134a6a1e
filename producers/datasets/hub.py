"""Questions by their name on the Hugging Face hub, with its library `datasets`, which has a cache."""

import re
from collections.abc import Iterator

from producers.datasets.base import DatasetError, Record

PREFIX = "hub:"
_NAME = re.compile(
    r"hub:(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<subset>[\w.-]+))?(?::(?P<split>[\w.]+))?(?:@(?P<revision>[\w.-]+))?"
)


def records(name: str, setting: str) -> Iterator[Record]:
    """All rows of `hub:OWNER/NAME/SUBSET:SPLIT@REVISION`; the last three may be left out.

    Without a split it is `train` for data.train and `test` for data.heldout. Raises DatasetError when the
    library is missing, or the dataset cannot be had.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise DatasetError(f"{setting} is {name!r}: expected hub:OWNER/NAME, hub:OWNER/NAME/SUBSET:SPLIT.")
    split = found["split"] or ("train" if setting == "data.train" else "test")
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"{setting} is {name!r}: reading from the hub needs the library datasets "
            f"(pip install 'mentor-stream[hub]'). {_otherwise(setting)}"
        ) from error
    try:
        rows = datasets.load_dataset(found["name"], found["subset"], split=split, revision=found["revision"])
    except Exception as error:  # of requests, files, formats, names: whatever it is, the way out is one
        reason = (str(error).splitlines() or [""])[0][:300]
        raise DatasetError(
            f"{setting} is {name!r}: the hub gives no such dataset ({type(error).__name__}: {reason}). "
            f"{_otherwise(setting)}"
        ) from error
    return (Record(f"row {number}", dict(columns)) for number, columns in enumerate(rows, 1))


def _otherwise(setting: str) -> str:
    return (
        "Without a network: where there is one, download its .parquet or .jsonl files, or save it with "
        f"save_to_disk, and set {setting} to that directory."
    )
