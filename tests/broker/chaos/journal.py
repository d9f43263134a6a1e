"""What happened to a worker, one line an event, written at once: what was written, no kill takes back."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec


class Attempt(msgspec.Struct, frozen=True, tag=True):
    """A producer is about to send message `number` of its key."""

    time: float
    key: str
    number: int

    @property
    def id(self) -> tuple[str, int]:
        """Which message it is."""
        return self.key, self.number


class Logged(msgspec.Struct, frozen=True, tag=True):
    """A message that the topic holds."""

    key: str
    number: int
    partition: int
    offset: int

    @property
    def id(self) -> tuple[str, int]:
        """Which message it is: two of the same are duplicates."""
        return self.key, self.number

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands."""
        return self.partition, self.offset


class Acknowledged(Logged, frozen=True, tag=True):
    """A producer's send has returned."""

    time: float


class Delivered(Logged, frozen=True, tag=True):
    """A consumer was handed a message."""

    time: float


class Handled(msgspec.Struct, frozen=True, tag=True):
    """The consumer has dealt with the message and is about to call `done`."""

    time: float
    partition: int
    offset: int


class Committed(msgspec.Struct, frozen=True, tag=True):
    """The watcher has seen that the group goes on at `offset`."""

    time: float
    partition: int
    offset: int


class Woken(msgspec.Struct, frozen=True, tag=True):
    """The killer is about to let a member go on that it had stalled."""

    time: float
    member: str


Entry = Attempt | Acknowledged | Delivered | Handled | Committed | Woken
E = TypeVar("E", bound=Entry)
_DECODER = msgspec.json.Decoder(Entry)


@dataclass
class History:
    """All journals, each by the process that kept it, and what the topic holds in the end.

    Times are those of the machine's monotonic clock, the same in every process.
    """

    journals: dict[str, list[Entry]] = field(default_factory=dict)
    log: list[Logged] = field(default_factory=list)

    def all(self, kind: type[E]) -> list[E]:
        """The entries of a kind, journal by journal."""
        return [entry for journal in self.journals.values() for entry in journal if type(entry) is kind]

    def in_time(self, kind: type[E]) -> list[E]:
        """The entries of a kind as they happened."""
        return sorted(self.all(kind), key=lambda entry: entry.time)


class Journal:
    """The writing side."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, entry: Entry) -> None:
        """The kernel has it when this returns."""
        os.write(self._file, msgspec.json.encode(entry) + b"\n")


def now() -> float:
    """Seconds on the clock that all processes share."""
    return time.monotonic()


def read(path: Path) -> list[Entry]:
    """The entries of a journal; a last line that its writer did not finish is none."""
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [_DECODER.decode(line) for line in whole.splitlines()]
