"""Where records come from: a file, several, a folder, a saved dataset, or the hub. Formats go by suffix."""

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from producers.datasets import hub, saved
from producers.datasets.base import DatasetError, Format, Record

FORMATS = {".jsonl": "jsonl", ".parquet": "parquet"}
"""A new format is a new module here with a `records` of its own."""
_SPLIT = re.compile(r"(train|test|validation|valid|val|dev)(?![a-z])")


def records(path: Path, setting: str) -> Iterator[Record]:
    """All records of what `setting` names, in order. Raises DatasetError, before the first one is read."""
    if str(path).startswith(hub.PREFIX):
        return hub.records(str(path), setting)
    if path.is_dir() and saved.is_saved(path):
        return saved.records(path, setting)
    files = _files(path, setting)
    for file in files:
        if file.suffix not in FORMATS:
            raise DatasetError(
                f"{setting} is {str(path)!r}: not a known format; use {' or '.join(FORMATS)}, a directory of "
                "such files, one that save_to_disk wrote, or hub:OWNER/NAME."
            )
    return _of_files(files, named=len(files) > 1 or path.is_dir())


def _of_files(files: Sequence[Path], *, named: bool) -> Iterator[Record]:
    for file in files:
        form = cast(Format, importlib.import_module(f"producers.datasets.{FORMATS[file.suffix]}"))
        for record in form.records(file):
            yield Record(f"{file.name} {record.place}", record.columns) if named else record


def _files(path: Path, setting: str) -> list[Path]:
    """The files that a path names, sorted by name."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return _folder(path, setting)
    if re.search(r"[*?\[]", path.name):
        found = sorted(file for file in path.parent.glob(path.name) if file.is_file())
        if not found:
            raise DatasetError(f"{setting} is {str(path)!r}: no such files (working directory {Path.cwd()}).")
        return found
    what = "not a file" if path.exists() else "no such file"
    raise DatasetError(f"{setting} is {str(path)!r}: {what} (working directory {Path.cwd()}).")


def _folder(path: Path, setting: str) -> list[Path]:
    """The files of a folder that holds one split of one dataset."""
    files = sorted(file for file in path.iterdir() if file.suffix in FORMATS)
    if not files:
        below = sorted(one.name for one in path.iterdir() if one.is_dir())
        inside = f" Perhaps it is in one of {', '.join(below[:8])}?" if below else ""
        raise DatasetError(
            f"{setting} is {str(path)!r}: not a file, and as a directory it holds neither "
            f"{' nor '.join(FORMATS)} files nor what save_to_disk writes.{inside}"
        )
    splits = {split[1] if (split := _SPLIT.match(file.name)) else "" for file in files}
    if len({file.suffix for file in files}) > 1 or len(splits) > 1:
        some = ", ".join(file.name for file in files[:4])
        raise DatasetError(
            f"{setting} is {str(path)!r}: it holds more than one dataset ({some}, ...). Name files, as in "
            f"{str(path / files[0].name)!r} or {str(path / 'train-*.parquet')!r}."
        )
    return files
