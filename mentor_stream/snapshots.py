"""Policy snapshots: Hugging Face directories that appear whole or not at all.

A snapshot is written beside its place, digested, synced and renamed, so a reader sees either nothing
or all of it, and can tell a damaged copy from a good one. Knows files, not models: imports no torch.
"""

import errno
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

MANIFEST = "manifest.json"
FULL_BYTES = 2**20
"""A disk with less room is full."""


class SnapshotError(Exception):
    """A snapshot that is gone, damaged or could not be written."""


class Manifest(msgspec.Struct, frozen=True):
    """The manifest's content."""

    files: dict[str, str]
    """SHA-256 of every file by its path inside the snapshot."""


class Snapshot(NamedTuple):
    """A finished snapshot: where it lies and the digest of its manifest."""

    path: Path
    digest: str


def write(directory: Path, version: int, fill: Callable[[Path], None]) -> Snapshot:
    """Let `fill` write the model's files, then publish them as `directory/v<version>` in one step.

    Writing the same version again replaces it. Raises SnapshotError when the disk refuses.
    """
    place, draft = directory / f"v{version:08d}", directory / f".draft-v{version:08d}-{os.getpid()}"
    _clear(directory)  # first: what a crash left behind may be what fills the disk
    try:
        draft.mkdir(parents=True)
        fill(draft)
        digest = _seal(draft)
        if place.exists():
            retired = directory / f".retired-v{version:08d}-{os.getpid()}"
            place.rename(retired)
            shutil.rmtree(retired, ignore_errors=True)
        draft.rename(place)
        _sync(directory)
    except Exception as error:
        cause = _refusal(error) or _fullness(directory)  # before its room is given back
        shutil.rmtree(draft, ignore_errors=True)
        if cause:
            raise SnapshotError(
                f"snapshot {place} could not be written: {cause}. Free space or set run.directory elsewhere."
            ) from error
        raise
    return Snapshot(place, digest)


def verify(path: Path, digest: str) -> None:
    """Check every file against the manifest and the manifest against `digest`. Raises SnapshotError."""
    try:
        manifest = (path / MANIFEST).read_bytes()
        if sha256(manifest).hexdigest() != digest:
            raise SnapshotError(f"snapshot {path} is not the one that was released (manifest digest differs)")
        for name, expected in msgspec.json.decode(manifest, type=Manifest).files.items():
            if file_digest(path / name) != expected:
                raise SnapshotError(f"snapshot {path}: {name} is damaged")
    except FileNotFoundError as error:
        raise SnapshotError(f"snapshot {path} is gone or incomplete: {error.filename} is missing") from error
    except (OSError, ValueError) as error:  # a path of a stranger may be anything
        raise SnapshotError(f"snapshot {str(path)[:200]!r} cannot be read: {error}") from error


def identity(place: Path) -> str:
    """A digest of a model's directory: its config and its weights, by what they are and not where they lie.

    Of a snapshot the manifest is believed; else every byte is read, a second or so for each GB: ask once.
    Raises OSError for what is no model's directory.
    """
    digest, sealed = sha256(), _sealed(place)
    for path in [place / "config.json", *sorted(place.glob("*.safetensors"))]:
        of_file = sealed.get(path.name) or file_digest(path)
        digest.update(f"{path.name} {of_file}\n".encode())
    return digest.hexdigest()


def versions(directory: Path) -> list[Path]:
    """The finished snapshots in a directory, oldest first; whatever else lies there is somebody else's."""
    return sorted(path for path in directory.glob("v*") if path.name[1:].isdecimal() and path.is_dir())


def prune(directory: Path, keep: int) -> None:
    """Remove all but the newest `keep` snapshots, and drafts that dead processes left."""
    finished = versions(directory)
    for old in finished[: max(0, len(finished) - keep)]:
        shutil.rmtree(old, ignore_errors=True)
    _clear(directory)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _sealed(place: Path) -> dict[str, str]:
    """Digests of a snapshot's files, as its manifest has them; without those that were written after it."""
    manifest = place / MANIFEST
    try:
        files = msgspec.json.decode(manifest.read_bytes(), type=Manifest).files
        since = manifest.stat().st_mtime_ns
        return {name: known for name, known in files.items() if (place / name).stat().st_mtime_ns <= since}
    except (OSError, ValueError):  # no snapshot, or a damaged one
        return {}


def _clear(directory: Path) -> None:
    """Remove what was left half done by processes that are gone, also by one that had our own id."""
    for debris in [*directory.glob(".draft-*"), *directory.glob(".retired-*")]:
        owner = debris.name.rpartition("-")[2]
        if owner == str(os.getpid()) or not Path(f"/proc/{owner}").exists():
            shutil.rmtree(debris, ignore_errors=True)


def _refusal(error: BaseException | None) -> BaseException | None:
    """The disk's refusal behind an error, if that is what it is: writers wrap it in errors of their own."""
    while error is not None:
        if isinstance(error, OSError) or os.strerror(errno.ENOSPC) in str(error):
            return error
        error = error.__cause__ or error.__context__
    return None


def _fullness(directory: Path) -> str | None:
    """That the disk is full, which not every writer says of what it could not write."""
    full = directory.exists() and shutil.disk_usage(directory).free < FULL_BYTES
    return os.strerror(errno.ENOSPC) if full else None


def _seal(draft: Path) -> str:
    files = sorted(p for p in draft.rglob("*") if p.is_file())
    listing = {str(p.relative_to(draft)): file_digest(p) for p in files}
    manifest = msgspec.json.format(msgspec.json.encode(Manifest(listing)), indent=1)
    (draft / MANIFEST).write_bytes(manifest)
    for path in [*files, draft / MANIFEST, draft]:
        _sync(path)
    return sha256(manifest).hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
