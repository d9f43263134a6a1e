"""Prepared hints, in levels from the most abstract to the most concrete: guide `kind = "static"`.

After Scaf-GRPO and HINT (levels), and QuestA (the beginning of the worked solution). levels.py decides which
level a round may give, library.py finds a question's hints in a file, guide.py is the guide.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from consumers.drafts import UNSEEN
from consumers.guides.static import library
from consumers.guides.static.guide import Static
from mentor_stream.config import ConfigError, Section

SETTING = "mentor.guide.library"
Share = Annotated[float, Field(gt=0, lt=1)]


class Config(Section):
    """Options of the guide."""

    name: str = Field("static", min_length=1)
    """Identifies this mentor policy in the ids of its lessons: change it with the library."""
    library: Path | None = None
    """JSON lines, one question each: a field that names the question, and `hints`, a list of texts from the
    most abstract to the most concrete. Other fields are ignored."""
    key: str = Field("question", min_length=1)
    """The field that names the question: its text, or a column that `data.extra` lists, such as an id."""
    solution_shares: tuple[Share, ...] = ()
    """Where the library has no entry: levels made of these first shares of the question's worked solution."""
    general: tuple[str, ...] = ()
    """Where there is neither: levels that fit any question. Left out, such a question gets no lesson."""
    first_level: int = Field(1, ge=1)
    """Level of the first lesson on a question; each lesson after it may go one further."""

    @field_validator("solution_shares")
    @classmethod
    def _growing(cls, shares: tuple[float, ...]) -> tuple[float, ...]:
        if list(shares) != sorted(set(shares)):
            raise ValueError("expected each share to be larger than the one before")
        return shares

    @field_validator("general")
    @classmethod
    def _none_empty(cls, hints: tuple[str, ...]) -> tuple[str, ...]:
        if not all(hint.strip() for hint in hints):
            raise ValueError("a hint must not be empty")
        if any(map(UNSEEN.search, hints)):
            raise ValueError("a hint must not have control characters")
        return hints

    @model_validator(mode="after")
    def _something_to_give(self) -> Self:
        if not (self.library or self.solution_shares or self.general):
            raise ValueError("nothing to give: set at least one of library, solution_shares and general")
        return self


def build(config: Config) -> Static:
    """The guide, its library looked through. Raises ConfigError."""
    return Static(
        name=config.name,
        library=library.read(config.library, config.key, SETTING) if config.library else None,
        shares=config.solution_shares,
        general=config.general,
        first_level=config.first_level,
    )


def check(config: Config) -> Iterable[str]:
    """What is wrong with the library, line by line."""
    try:
        build(config)
    except ConfigError as error:
        yield from str(error).splitlines()
