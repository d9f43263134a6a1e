"""Hints in a file of JSON lines: looked through once, then read an entry at a time as questions ask.

A library may be larger than memory. Kept of an entry are 16 bytes: a digest of its key, and its place.
"""

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np

from consumers.drafts import UNSEEN
from mentor_stream.config import ConfigError

MAX_LINE = 2**20
"""Bytes. What is longer is no library, but perhaps a file of another kind."""
MOST_PROBLEMS = 10
"""That are named; nobody reads more."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LibraryError(ConfigError):
    """A library that cannot be used; one line a problem, with file and line."""


class UnreadableLine(ValueError):
    """A line that holds no hints for a question, and why."""


class Entry(NamedTuple):
    """One line."""

    key: str
    hints: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Library:
    """Where the hints for which key are."""

    path: Path
    key: str
    """The field whose value names a question."""
    digests: np.ndarray
    """uint64 [entries], ascending."""
    places: np.ndarray
    """uint64 [entries]: the bytes before each line."""

    def hints(self, value: str) -> tuple[str, ...]:
        """The levels for the question of this key, the most abstract first; none when it has no entry.

        Raises LibraryError when the file is no longer what it was.
        """
        wanted = plain(value)
        at = int(np.searchsorted(self.digests, _digest(wanted)))
        if at == len(self.digests) or self.digests[at] != _digest(wanted):
            return ()
        try:
            with self.path.open("rb") as file:
                file.seek(int(self.places[at]))
                entry = _entry(file.readline(MAX_LINE + 1), self.key)
        except (OSError, UnreadableLine) as error:
            raise LibraryError(f"{self.path} can no longer be read: {error}") from error
        if entry.key != wanted:
            raise LibraryError(f"{self.path} was changed after the mentor started; start it again")
        return entry.hints


def read(path: Path, key: str, setting: str) -> Library:
    """The library that `setting` names, every line of it checked. Raises LibraryError."""
    if not path.is_file():
        what = "not a file" if path.exists() else "no such file"
        raise LibraryError(f"{setting} is {str(path)!r}: {what} (working directory {Path.cwd()}).")
    index, problems = _Index(), list[str]()
    try:
        with path.open("rb") as file:
            for line, place, text in _lines(file):
                try:
                    index.add(_entry(text, key).key, line, place)
                except UnreadableLine as error:
                    problems.append(f"{path} line {line}: {error}.")
                if len(problems) == MOST_PROBLEMS or len(text) > MAX_LINE:
                    break
    except OSError as error:
        raise LibraryError(f"{setting} is {str(path)!r}: {error}.") from error
    problems += (f"{path} line {line}: the same {key} as line {first}." for line, first in index.repeated())
    if problems:
        raise LibraryError("\n".join(problems[:MOST_PROBLEMS]))
    if not index.lines:
        raise LibraryError(f"{setting} is {str(path)!r}: it holds no hints.")
    return Library(path, key, *index.sorted())


def plain(value: Any) -> str:
    """A key as it is compared: white space does not count; numbers are text, as datasets are read."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


@dataclass
class _Index:
    """A library while it is read."""

    digests: array = field(default_factory=lambda: array("Q"))
    places: array = field(default_factory=lambda: array("Q"))
    lines: array = field(default_factory=lambda: array("Q"))

    def add(self, key: str, line: int, place: int) -> None:
        self.digests.append(int(_digest(key)))
        self.places.append(place)
        self.lines.append(line)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        digests, order = self._order()
        return digests[order], np.asarray(self.places)[order]

    def repeated(self) -> Iterator[tuple[int, int]]:
        """Lines whose key is that of a line before, with that line."""
        digests, order = self._order()
        for at in np.flatnonzero(digests[order][1:] == digests[order][:-1])[:MOST_PROBLEMS]:
            yield self.lines[order[at + 1]], self.lines[order[at]]

    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        digests = np.array(self.digests, dtype=np.uint64)
        return digests, np.argsort(digests, kind="stable")


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and text of each line that is not blank, of one that is too long its beginning."""
    line = place = 0
    while text := file.readline(MAX_LINE + 1):
        line += 1
        if text.strip():
            yield line, place, text
        place += len(text)


def _entry(line: bytes, key: str) -> Entry:
    """What a line says. Raises UnreadableLine."""
    if len(line) > MAX_LINE:
        raise UnreadableLine(f"longer than {MAX_LINE} bytes; write one question a line")
    try:
        found = msgspec.json.decode(line.removeprefix(BYTE_ORDER_MARK))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableLine(f"not JSON ({error}); write one object a line") from error
    if not isinstance(found, dict):
        raise UnreadableLine(f"{type(found).__name__}, expected an object with {key} and hints")
    if found.get(key) in (None, "") or not plain(found[key]):
        fields = ", ".join(map(repr, found)) or "none"
        raise UnreadableLine(f"no {key!r} (there are: {fields}); see mentor.guide.key")
    return Entry(plain(found[key]), _hints(found.get("hints")))


def _hints(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise UnreadableLine("hints must be a list of texts, the most abstract first")
    for level, hint in enumerate(value, 1):
        if not isinstance(hint, str):
            raise UnreadableLine(f"level {level} of hints is {type(hint).__name__}, expected text")
        if not hint.strip():
            raise UnreadableLine(f"level {level} of hints is empty")
        if UNSEEN.search(hint):
            raise UnreadableLine(
                f"level {level} of hints has control characters; in JSON, \\f is written \\\\f"
            )
    return tuple(value)


def _digest(key: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(key.encode(), digest_size=8).digest()))
