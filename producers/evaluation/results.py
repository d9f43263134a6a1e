"""Answers as a file to go on from: a line of what it is of, then a line a question.

Each line has a digest of itself and all before it, so that what was changed, moved or taken out by hand is
not believed. It is no secret: it finds what happened to a file, not who wants to deceive.
"""

import fcntl
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

import msgspec

from mentor_stream import disk
from mentor_stream.config import ConfigError
from producers.evaluation.estimates import Count
from schemas import Verdict


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers of a file are of: all that must be the same for answers to be put together."""


class About(Heading, frozen=True, kw_only=True):
    """What was evaluated, and how."""

    suite: str
    model: str
    """The identity of its directory (mentor_stream/snapshots/)."""
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


class Line(Asked, frozen=True):
    """The same as it is written down."""

    digest: str = ""


H = TypeVar("H", bound=Heading)


class Parsed(NamedTuple, Generic[H]):
    """What a file says."""

    about: H
    asked: list[Asked]
    whole: int
    """Bytes of whole lines: the last one may have been cut off."""
    digest: str
    """Of all whole lines."""


class Results:
    """One file of answers. Whoever is killed while writing loses the line being written, and no other."""

    def __init__(self, path: Path, file: BinaryIO, found: Parsed[Any]) -> None:
        """`file` is locked since before it was read: what another process adds meanwhile would be cut off."""
        self.path, self.asked, self._digest = path, list(found.asked), found.digest
        self._file = file
        self._file.truncate(found.whole)
        self._file.seek(found.whole)

    def add(self, asked: Asked) -> None:
        """Keep answers, durably."""
        self._digest = _digest(self._digest, asked)
        line = Line(asked.question_id, asked.question, asked.answers, self._digest)
        with disk.writing("--out", self.path):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self.asked.append(asked)

    def close(self) -> None:
        """No more answers come."""
        self._file.close()


def opened(path: Path, about: Heading) -> Results:
    """The file to go on with, made when there is none. Raises ConfigError when it is of something else."""
    with disk.writing("--out", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        file = _locked(path)
    try:
        return Results(path, file, _gone_on_from(path, about))
    except BaseException:
        file.close()
        raise


def _gone_on_from(path: Path, about: H) -> Parsed[H]:
    with disk.writing("--out", path):
        if b"\n" not in path.read_bytes():  # nothing was kept in it
            path.write_bytes(msgspec.json.encode(about) + b"\n")
    found = _parsed(path, type(about))
    if found.about != about:
        raise ConfigError(
            f"{path} has answers of another evaluation ({_difference(found.about, about)}). Give another "
            "--out, or remove the file."
        )
    return found


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
    """What a file says. Raises ConfigError for none, for what is no such file, and for a changed one."""
    found = _parsed(path, About)
    return found.about, found.asked


def _parsed(path: Path, kind: type[H]) -> Parsed[H]:
    try:
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        first, *rest = content[:whole].splitlines()
        about = msgspec.json.decode(first, type=kind)
        lines = [msgspec.json.decode(line, type=Line) for line in rest]
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is no file of answers: {error}. Give another --out, or remove it."
        ) from error
    asked, digest = [Asked(line.question_id, line.question, line.answers) for line in lines], _begin(about)
    for number, (one, line) in enumerate(zip(asked, lines, strict=True), start=2):
        digest = _digest(digest, one)
        if digest != line.digest:
            raise ConfigError(
                f"{path} line {number} is not as it was written: its digest differs. Remove it and all "
                "that follow, and they are asked again."
            )
    return Parsed(about, asked, whole, digest)


def _begin(about: Heading) -> str:
    return blake2b(msgspec.json.encode(about), digest_size=16).hexdigest()


def _digest(before: str, asked: Asked) -> str:
    """Of a line and all before it."""
    return blake2b(before.encode() + msgspec.json.encode(asked), digest_size=16).hexdigest()


def _difference(before: Heading, now: Heading) -> str:
    names = now.__struct_fields__
    changed = [name for name in names if getattr(before, name) != getattr(now, name)]
    return ", ".join(f"{name} was {getattr(before, name)!r}, is {getattr(now, name)!r}" for name in changed)
