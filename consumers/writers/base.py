"""What a writer of points promises."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from consumers.writers.points import Point
from mentor_stream.config import RunConfig

Marks = Mapping[str, int]
"""What a writer must be told to go on exactly behind its last `flush`: bytes of each of its files."""


class Writer(Protocol):
    """Takes points in their order."""

    def write(self, point: Point) -> None:
        """Take one in."""
        ...

    def flush(self) -> Marks:
        """Make everything that was taken durable."""
        ...


class Opening(Protocol):
    """A writer's module: its `opened`."""

    def __call__(self, directory: Path, run: RunConfig, marks: Marks) -> AbstractContextManager[Writer]:
        """A writer that goes on in `directory` behind these marks. Raises ConfigError."""
        ...
