"""From a question file to a Dataset: every record's columns checked and brought to text, row by row."""

import json
from array import array
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from producers.datasets import presets, repeats
from producers.datasets.base import DataConfig, Dataset, DatasetError, Keys, Row
from producers.datasets.columns import Columns
from producers.datasets.sources import records
from producers.datasets.spool import Spool


def read(path: Path, config: DataConfig, setting: str) -> Dataset:
    """All questions of what `setting` names. Raises DatasetError naming file, line and column.

    Memory is bounded whatever the size: rows are on disk, some 40 bytes a row are kept.
    """
    rows, keys, answers = Spool(), array("Q"), array("Q")
    for record in records(path, setting):
        row = _row(record.place, Columns(f"{path} {record.place}", record.columns), config, setting)
        rows.append(row)
        keys.append(repeats.key(row.question))
        answers.append(repeats.number(row.answer.strip()))
    if not rows:
        raise DatasetError(f"{setting} is {str(path)!r}: it holds no questions.")
    asked = _array(keys)
    again, firsts = repeats.repeated(asked)
    found = repeats.described(rows, _array(answers), again, firsts)
    if config.duplicates == "drop":
        rows.drop(again)
        asked = np.delete(asked, again)
    return Dataset(path, rows, _digest(rows), asked, found)


def _digest(rows: Iterable[Row]) -> str:
    digest = blake2b(digest_size=16)
    for row in rows:
        digest.update(json.dumps(row[1:]).encode())
    return digest.hexdigest()


def _array(numbers: "array[int]") -> Keys:
    return np.frombuffer(numbers, np.uint64)


def _row(place: str, columns: Columns, config: DataConfig, setting: str) -> Row:
    preset = config.preset_of(setting)
    if preset:
        fields = presets.named(preset).fields(columns, config)
        question, answer, solution = fields
    else:
        question = columns.text(config.question, "Set data.question.")
        answer = columns.text(config.answer, "Set data.answer.")
        solution = None
    if config.solution is not None:
        solution = columns.text(config.solution, "Set data.solution.")
    if not question.strip():
        column = presets.named(preset).QUESTION if preset else config.question
        raise columns.error(f"column {column!r} is empty")
    extra = {column: columns.text(column, "Set data.extra.") for column in config.extra}
    return Row(place, question, answer, solution, extra)
