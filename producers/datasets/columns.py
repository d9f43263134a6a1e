"""One record's columns as text, and what to say when they are none."""

import json
import math
from collections.abc import Mapping
from typing import Any

from producers.datasets.base import DatasetError


class Columns:
    """The columns of one record, `where` it stands in the words of a reader."""

    def __init__(self, where: str, values: Mapping[str, Any]) -> None:
        self._where, self._values = where, values

    def text(self, column: str, remedy: str) -> str:
        """A column's value: numbers as they print, tables and lists as JSON.

        Raises DatasetError for one that is missing, which ends with the remedy, and for what is no text.
        """
        if column not in self._values:
            columns = ", ".join(map(repr, self._values))
            raise self.error(f"no column {column!r} (there are: {columns}). {remedy}")
        value = self._values[column]
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise self.error(f"column {column!r} is {value}, expected text or a number")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if not _is_unicode(text):
            raise self.error(f"column {column!r} holds text that is not valid Unicode")
        return text

    def texts(self, column: str, remedy: str) -> list[str]:
        """The texts in a column that holds a list, or one as JSON. Raises DatasetError as `text` does."""
        found = self._values.get(column)
        if not isinstance(found, list):
            text = self.text(column, remedy)
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                found = None
        if not isinstance(found, list) or not all(
            isinstance(text, str) and _is_unicode(text) for text in found
        ):
            raise self.error(f"column {column!r} holds no list of texts. {remedy}")
        return found

    def has(self, column: str) -> bool:
        """Whether there is a value in this column."""
        return self._values.get(column) is not None

    def error(self, complaint: str) -> DatasetError:
        """The error that this record deserves."""
        return DatasetError(f"{self._where}: {complaint}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
