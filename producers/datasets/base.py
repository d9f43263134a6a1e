"""What a question file holds once it is read, whatever its format."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from pydantic import Field, model_validator

import schemas
from mentor_stream.config import ConfigError, Section

PresetName = Literal[
    "bigcodebench", "deepmath", "gsm8k", "humaneval", "livecodebench", "math", "mbpp", "mmlu", "olympiadbench"
]


class DataConfig(Section):
    """Section [data]: where the questions are."""

    table: ClassVar[str] = "data"

    train: Path
    """Questions to train on: a .jsonl or .parquet file, several (`data/train-*.parquet`), a folder of them, a
    directory that `save_to_disk` of Hugging Face's datasets wrote, `package:NAME/FILE` of an installed Python
    package, or `hub:OWNER/NAME/SUBSET:SPLIT`."""
    heldout: Path | None = None
    """Questions to measure accuracy on, without hints; never trained on."""
    preset: PresetName | None = None
    """A known dataset whose columns need not be named: what is question, reference and solution."""
    heldout_preset: PresetName | None = None
    """That of heldout, where it is another dataset than train."""
    question: str = "question"
    """Column with the question."""
    answer: str = "answer"
    """Column with what the verifier compares with; numbers are read as text, tables as JSON."""
    solution: str | None = None
    """Column with a worked solution, for the mentor's eyes only. Without one a preset may know of it."""
    extra: tuple[str, ...] = ()
    """Further columns that your own verifier or guide wants to see."""
    duplicates: Literal["keep", "drop"] = "keep"
    """Whether a question that was asked before is a question of its own, or is left out. Upper case, white
    space and closing punctuation make no difference."""
    max_tests_bytes: int = Field(4_000_000, ge=1)
    """Of `livecodebench`: private tests of a question that go beyond so many bytes are left out."""
    epochs: int | None = Field(None, ge=1)
    """How often the questions are fed, each time in another order; left out, for as long as the run lasts."""

    @model_validator(mode="after")
    def _a_preset_knows_its_columns(self) -> "DataConfig":
        named = [column for column in ("question", "answer") if column in self.model_fields_set]
        if self.preset and named:
            raise ValueError(
                f"preset {self.preset!r} knows the columns, and {' and '.join(named)} names them as well: "
                "take one of the two out"
            )
        return self

    def preset_of(self, setting: str) -> PresetName | None:
        """The preset for the file of `data.train` or `data.heldout`."""
        return self.heldout_preset or self.preset if setting == "data.heldout" else self.preset


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


Keys = np.ndarray[tuple[int], np.dtype[np.uint64]]
"""A number for each row's question, the same for questions that only differ in spelling [rows]."""


class Repeats(NamedTuple):
    """Rows that ask what a row before them asks."""

    questions: int
    other_answer: int
    """How many of them have another answer than the first row that asks it."""
    example: tuple[str, str]
    """Places of the first of them, and of the row that it repeats."""


class Dataset(NamedTuple):
    """All questions of one file. `digest` depends on what they say, not on the file's name or format."""

    path: Path
    rows: Sequence[Row]
    digest: str
    keys: Keys = np.zeros(0, np.uint64)
    repeats: Repeats | None = None

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
