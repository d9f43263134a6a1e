"""The answers to a suite as a file to go on from: a line of what it is of, then a line a question."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from mentor_stream.config import ConfigError
from producers.evaluation.estimates import Count
from schemas import Verdict


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What was evaluated, and how: all that must be the same for answers to be put together."""

    suite: str
    model: str
    """The identity of its directory (mentor_stream/snapshots.py)."""
    questions: str
    """The dataset's digest."""
    prompt: dict[str, str | None]
    verifier: str
    """Its table, as JSON."""
    samples: int
    temperature: float
    top_p: float
    max_new_tokens: int
    seed: int
    engine: str


class Answer(msgspec.Struct, frozen=True):
    """One completion, and what was thought of it."""

    verdict: Verdict
    remark: str
    tokens: int
    finish_reason: str
    text: str


class Asked(msgspec.Struct, frozen=True):
    """A question with its answers."""

    question_id: str
    question: str
    answers: list[Answer]

    @property
    def count(self) -> Count:
        """Answers that were judged, and right ones."""
        verdicts = [answer.verdict for answer in self.answers]
        right = verdicts.count(Verdict.RIGHT)
        return Count(right + verdicts.count(Verdict.WRONG), right)


class Results:
    """One file of answers. Whoever is killed while writing loses the line being written, and no other."""

    def __init__(self, path: Path, about: About, found: Sequence[Asked], whole: int) -> None:
        self.path, self.about = path, about
        self.asked = list(found)
        self._file = _locked(path)
        self._file.truncate(whole)
        self._file.seek(whole)

    def add(self, asked: Asked) -> None:
        """Keep answers, durably."""
        self._file.write(msgspec.json.encode(asked) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.asked.append(asked)

    def close(self) -> None:
        """No more answers come."""
        self._file.close()


def opened(path: Path, about: About) -> Results:
    """The file to go on with, made when there is none. Raises ConfigError when it is of something else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or b"\n" not in path.read_bytes():  # nor was anything kept in it
        path.write_bytes(msgspec.json.encode(about) + b"\n")
    before, asked, whole = _parsed(path)
    if before != about:
        raise ConfigError(
            f"{path} has answers of another evaluation ({_difference(before, about)}). Give another --out, "
            "or remove the file."
        )
    return Results(path, about, asked, whole)


def _locked(path: Path) -> BinaryIO:
    """The file, for this process alone. Raises ConfigError when another one has it."""
    file = path.open("r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ConfigError(
            f"{path}: another evaluation writes there. Wait for it, or give another --out."
        ) from error
    return file


def read(path: Path) -> tuple[About, list[Asked]]:
    """What a file says. Raises ConfigError for none, and for what is no such file."""
    about, asked, _ = _parsed(path)
    return about, asked


def _parsed(path: Path) -> tuple[About, list[Asked], int]:
    """Also how many bytes whole lines take: the last one may have been cut off."""
    try:
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        first, *lines = content[:whole].splitlines()
        about = msgspec.json.decode(first, type=About)
        return about, [msgspec.json.decode(line, type=Asked) for line in lines], whole
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is no file of answers: {error}. Give another --out, or remove it."
        ) from error


def _difference(before: About, now: About) -> str:
    names = [name for name in About.__struct_fields__ if getattr(before, name) != getattr(now, name)]
    return ", ".join(f"{name} was {getattr(before, name)!r}, is {getattr(now, name)!r}" for name in names)
