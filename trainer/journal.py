"""What each version was trained on: one line a batch in `batches.jsonl`, for whoever asks afterwards.

Tells only of the surviving course of the run: what a crash took back is taken out on resume. Training
itself never reads it.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mentor_stream.config import ConfigError
from schemas import Group


class Batch(msgspec.Struct, frozen=True):
    """One line: the groups that led from `version` to the next, in order."""

    version: int
    groups: tuple[str, ...]


def read(path: Path) -> list[Batch]:
    """The batches of a run in their order, none where there is no file. Raises ConfigError."""
    try:
        batches = [msgspec.json.decode(line, type=Batch) for line in _whole_lines(path)]
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a run's batches: {error}") from error
    for version, batch in enumerate(batches):
        if batch.version != version:
            raise ConfigError(
                f"{path}: version {version} is due and {batch.version} comes: lines are missing"
            )
    return batches


class Journal:
    """The file of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, version: int) -> None:
        """Forget the batches of `version` and later: the run goes on from there."""
        kept = [line for line in _whole_lines(self._path) if _version(line) < version]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(b"".join(kept))
        draft.replace(self._path)

    def add(self, version: int, groups: Sequence[Group]) -> None:
        """Write down a batch that was trained. Raises OSError, also where it was written in part."""
        batch = Batch(version, tuple(group.group_id for group in groups))
        line = msgspec.json.encode(batch) + b"\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            written = os.write(descriptor, line)  # one write: a kill leaves whole lines
        finally:
            os.close(descriptor)
        if written < len(line):  # half a line, which `keep` takes out
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))


def _whole_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def _version(line: bytes) -> int:
    return msgspec.json.decode(line, type=Batch).version
