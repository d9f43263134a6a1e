"""Snapshots on a disk, in one directory: written, counted, removed.

A snapshot is written beside its place, digested, synced and renamed, so a reader sees either nothing
or all of it, and can tell a damaged copy from a good one.
"""

import errno
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from mentor_stream.drafts import fullness, is_debris, sync
from mentor_stream.snapshots.manifest import MANIFEST, Manifest, SnapshotError, file_digest


class Snapshot(NamedTuple):
    """A finished snapshot: where it lies and the digest of its manifest."""

    path: Path
    digest: str


def write(
    directory: Path, version: int, fill: Callable[[Path], None], setting: str = "run.directory"
) -> Snapshot:
    """Let `fill` write the model's files, then publish them as `directory/v<version>` in one step.

    Writing the same version again replaces it. Raises SnapshotError when the disk refuses, which names the
    `setting` that the directory comes of.
    """
    place, draft = directory / f"v{version:08d}", directory / f".draft-v{version:08d}-{os.getpid()}"
    _clear(directory)  # first: what a crash left behind may be what fills the disk
    try:
        draft.mkdir(parents=True)
        fill(draft)
        digest = _seal(draft)
        if place.exists():
            _retire(place)
        draft.rename(place)
        sync(directory)
    except Exception as error:
        cause = _refusal(error) or fullness(directory)  # before its room is given back
        shutil.rmtree(draft, ignore_errors=True)
        if cause:
            raise SnapshotError(
                f"snapshot {place} could not be written: {cause}. Free space or set {setting} elsewhere."
            ) from error
        raise
    return Snapshot(place, digest)


def versions(directory: Path) -> list[Path]:
    """The finished snapshots in a directory, oldest first; whatever else lies there is somebody else's."""
    return sorted(path for path in directory.glob("v*") if path.name[1:].isdecimal() and path.is_dir())


def prune(directory: Path, keep: int) -> None:
    """Remove all but the newest `keep` snapshots, and drafts that dead processes left."""
    finished = versions(directory)
    for old in finished[: max(0, len(finished) - keep)]:
        shutil.rmtree(old, ignore_errors=True)
    _clear(directory)


def take_back(directory: Path, version: int) -> None:
    """Remove the snapshots of a future that a resume took back: those newer than a version.

    They would look newest when old ones are removed, and may be what fills the disk. Raises SnapshotError.
    """
    for path in versions(directory):
        if int(path.name[1:]) > version:
            try:
                _retire(path)
            except OSError as error:
                raise SnapshotError(f"snapshot {path} could not be removed: {error}") from error


def _retire(place: Path) -> None:
    """Take a snapshot away at once; what the disk keeps for those who read it is debris, for later."""
    retired = place.with_name(f".retired-{place.name}-{os.getpid()}")
    place.rename(retired)
    shutil.rmtree(retired, ignore_errors=True)


def _clear(directory: Path) -> None:
    """Remove what was left half done."""
    for debris in [*directory.glob(".draft-*"), *directory.glob(".retired-*")]:
        if is_debris(debris.name.rpartition("-")[2]):
            shutil.rmtree(debris, ignore_errors=True)


def _refusal(error: BaseException | None) -> BaseException | None:
    """The disk's refusal behind an error, if that is what it is: writers wrap it in errors of their own."""
    while error is not None:
        if isinstance(error, OSError) or os.strerror(errno.ENOSPC) in str(error):
            return error
        error = error.__cause__ or error.__context__
    return None


def _seal(draft: Path) -> str:
    files = sorted(p for p in draft.rglob("*") if p.is_file())
    listing = {str(p.relative_to(draft)): file_digest(p) for p in files}
    manifest = msgspec.json.format(msgspec.json.encode(Manifest(listing)), indent=1)
    (draft / MANIFEST).write_bytes(manifest)
    for path in [*files, draft / MANIFEST, draft]:
        sync(path)
    return sha256(manifest).hexdigest()
