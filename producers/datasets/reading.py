"""From a question file to a Dataset: the format by its suffix, every column checked and brought to text."""

import importlib
import json
import math
from hashlib import blake2b
from pathlib import Path
from typing import cast

from producers.datasets.base import DataConfig, Dataset, DatasetError, Format, Record, Row

FORMATS = {".jsonl": "jsonl", ".parquet": "parquet"}
"""A new format is a new module here with a `records` of its own."""


def read(path: Path, config: DataConfig, setting: str) -> Dataset:
    """All questions of the file that `setting` names. Raises DatasetError naming file, line and column."""
    if not path.is_file():
        what = "not a file" if path.exists() else "no such file"
        raise DatasetError(f"{setting} is {str(path)!r}: {what} (working directory {Path.cwd()}).")
    if path.suffix not in FORMATS:
        raise DatasetError(f"{setting} is {str(path)!r}: not a known format; use {' or '.join(FORMATS)}.")
    form = cast(Format, importlib.import_module(f"producers.datasets.{FORMATS[path.suffix]}"))
    digest = blake2b(digest_size=16)
    rows: list[Row] = []
    for record in form.records(path):
        row = _row(path, record, config)
        digest.update(json.dumps(row[1:]).encode())
        rows.append(row)
    if not rows:
        raise DatasetError(f"{setting} is {str(path)!r}: it holds no questions.")
    return Dataset(path, rows, digest.hexdigest())


def _row(path: Path, record: Record, config: DataConfig) -> Row:
    def text(column: str, setting: str) -> str:
        return _text(path, record, column, setting)

    question = text(config.question, "data.question")
    if not question.strip():
        raise DatasetError(f"{path} {record.place}: column {config.question!r} is empty")
    return Row(
        place=record.place,
        question=question,
        answer=text(config.answer, "data.answer"),
        solution=None if config.solution is None else text(config.solution, "data.solution"),
        extra={column: text(column, "data.extra") for column in config.extra},
    )


def _text(path: Path, record: Record, column: str, setting: str) -> str:
    """A column's value as text: numbers as they print, tables and lists as JSON."""
    where = f"{path} {record.place}"
    if column not in record.columns:
        columns = ", ".join(map(repr, record.columns))
        raise DatasetError(f"{where}: no column {column!r} (there are: {columns}). Set {setting}.")
    value = record.columns[column]
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise DatasetError(f"{where}: column {column!r} is {value}, expected text or a number")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if not _is_unicode(text):
        raise DatasetError(f"{where}: column {column!r} holds text that is not valid Unicode")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
