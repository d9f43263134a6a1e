"""Questions as JSON lines, perhaps compressed by gzip: one object a line, blank lines ignored."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from producers.datasets.base import DatasetError, Record

MAX_LINE = 256 * 2**20
"""Bytes of one question."""


def records(path: Path) -> Iterator[Record]:
    """See Format.records."""
    try:
        yield from _records(path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: not a whole file of gzip ({error})") from error


def _records(path: Path) -> Iterator[Record]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise DatasetError(f"{path} line {number}: longer than {MAX_LINE >> 20} MB")
            if line.strip():
                yield _record(path, f"line {number}", line)


def _record(path: Path, place: str, line: bytes) -> Record:
    try:
        columns = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} {place}: not UTF-8 ({error.reason} at byte {error.start})") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"{path} {place}: not JSON ({error}). Write one object a line.") from error
    if not isinstance(columns, dict):
        raise DatasetError(f"{path} {place}: {type(columns).__name__}, expected an object with named columns")
    return Record(place, columns)
