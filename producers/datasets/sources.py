"""Where records come from: files, a folder, a saved dataset, an installed package, or the hub.

Formats go by suffix.
"""

import importlib
import importlib.util
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from producers.datasets import hub, saved
from producers.datasets.base import DatasetError, Format, Record

FORMATS = {".jsonl": "jsonl", ".jsonl.gz": "jsonl", ".parquet": "parquet"}
"""A new format is a new module here with a `records` of its own."""
PACKAGE = "package:"
_SPLIT = re.compile(r"(train|test|validation|valid|val|dev)(?![a-z])")


def records(path: Path, setting: str) -> Iterator[Record]:
    """All records of what `setting` names, in order. Raises DatasetError, before the first one is read."""
    if str(path).startswith(hub.PREFIX):
        return hub.records(str(path), setting)
    if str(path).startswith(PACKAGE):
        path = _installed(path, setting)
    with _legible(f"{setting} is {str(path)!r}"):
        if path.is_dir() and saved.is_saved(path):
            return saved.records(path, setting)
        files = _files(path, setting)
    for file in files:
        if _suffix(file) not in FORMATS:
            raise DatasetError(
                f"{setting} is {str(path)!r}: not a known format; use {' or '.join(FORMATS)}, a directory of "
                "such files, one that save_to_disk wrote, or hub:OWNER/NAME."
            )
    return _of_files(files, named=len(files) > 1 or path.is_dir())


def _of_files(files: Sequence[Path], *, named: bool) -> Iterator[Record]:
    for file in files:
        form = cast(Format, importlib.import_module(f"producers.datasets.{FORMATS[_suffix(file)]}"))
        with _legible(str(file)):
            for record in form.records(file):
                yield Record(f"{file.name} {record.place}", record.columns) if named else record


@contextmanager
def _legible(what: str) -> Generator[None]:
    """Around reading: the disk may refuse it, and bytes may be damaged in ways that no format foresees."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{what}: it cannot be read ({error})") from error


def _suffix(file: Path) -> str:
    """Of the format, also where the file is compressed."""
    return "".join(file.suffixes[-2:]) if file.suffix == ".gz" else file.suffix


def _installed(path: Path, setting: str) -> Path:
    """The file of `package:NAME/FILE`, which came with a Python package; nothing of that is run."""
    name, _, file = str(path).removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise DatasetError(
            f"{setting} is {str(path)!r}: there is no package {name!r}. Install the distribution that has it "
            f"(of {name!r} perhaps pip install {name.replace('_', '-')}), or name a file."
        )
    return Path(spec.submodule_search_locations[0]) / file


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
    files = sorted(file for file in path.iterdir() if _suffix(file) in FORMATS)
    if not files:
        below = sorted(one.name for one in path.iterdir() if one.is_dir())
        inside = f" Perhaps it is in one of {', '.join(below[:8])}?" if below else ""
        raise DatasetError(
            f"{setting} is {str(path)!r}: not a file, and as a directory it holds neither "
            f"{' nor '.join(FORMATS)} files nor what save_to_disk writes.{inside}"
        )
    splits = {split[1] if (split := _SPLIT.match(file.name)) else "" for file in files}
    if len({_suffix(file) for file in files}) > 1 or len(splits) > 1:
        some = ", ".join(file.name for file in files[:4])
        raise DatasetError(
            f"{setting} is {str(path)!r}: it holds more than one dataset ({some}, ...). Name files, as in "
            f"{str(path / files[0].name)!r} or {str(path / 'train-*.parquet')!r}."
        )
    return files
