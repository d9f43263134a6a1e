"""What a question file holds once it is read, whatever its format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from pydantic import Field

import schemas
from mentor_stream.config import ConfigError, Section


class DataConfig(Section):
    """Section [data]: where the questions are."""

    table: ClassVar[str] = "data"

    train: Path
    """Questions to train on: a .jsonl or .parquet file."""
    heldout: Path | None = None
    """Questions to measure accuracy on, without hints; never trained on."""
    question: str = "question"
    """Column with the question."""
    answer: str = "answer"
    """Column with what the verifier compares with; numbers are read as text, tables as JSON."""
    solution: str | None = None
    """Column with a worked solution, for the mentor's eyes only."""
    extra: tuple[str, ...] = ()
    """Further columns that your own verifier or guide wants to see."""
    epochs: int | None = Field(None, ge=1)
    """How often the questions are fed, each time in another order; left out, for as long as the run lasts."""


class DatasetError(ConfigError):
    """A question file that cannot be used; the text names file, line and column."""


class Record(NamedTuple):
    """One record of a file as its format gives it, and its place in the words of a reader."""

    place: str
    columns: dict[str, Any]


class Format(Protocol):
    """A file format: one module, chosen by the file's suffix."""

    def records(self, path: Path) -> Iterator[Record]:
        """The file's records in their order. Raises DatasetError for what the format does not allow."""
        ...


class Row(NamedTuple):
    """One question."""

    place: str
    question: str
    answer: str
    solution: str | None
    extra: dict[str, str]


class Dataset(NamedTuple):
    """All questions of one file. `digest` depends on what they say, not on the file's name or format."""

    path: Path
    rows: list[Row]
    digest: str

    def query(self, row: int, *, position: int, attempt: int) -> schemas.Query:
        """The plain query for one row; its id depends on the content and the row alone."""
        found = self.rows[row]
        return schemas.Query(
            query_id=schemas.query_id(self.digest, row),
            origin=schemas.Origin.PLAIN,
            position=position,
            attempt=attempt,
            question=found.question,
            reference=found.answer,
            solution=found.solution,
            extra=found.extra,
        )
