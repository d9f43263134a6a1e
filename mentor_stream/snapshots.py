"""Policy snapshots: Hugging Face directories that appear whole or not at all.

A snapshot is written beside its place, digested, synced and renamed, so a reader sees either nothing
or all of it, and can tell a damaged copy from a good one. Knows files, not models: imports no torch.
"""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

MANIFEST = "manifest.json"


class SnapshotError(Exception):
    """A snapshot that is gone, damaged or could not be written."""


class Snapshot(NamedTuple):
    """A finished snapshot: where it lies and the digest of its manifest."""

    path: Path
    digest: str


def write(directory: Path, version: int, fill: Callable[[Path], None]) -> Snapshot:
    """Let `fill` write the model's files, then publish them as `directory/v<version>` in one step.

    Writing the same version again replaces it. Raises SnapshotError when the disk refuses.
    """
    place, draft = directory / f"v{version:08d}", directory / f".draft-v{version:08d}-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
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
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise SnapshotError(
            f"snapshot {place} could not be written: {error}. Free space or set run.directory elsewhere."
        ) from error
    return Snapshot(place, digest)


def verify(path: Path, digest: str) -> None:
    """Check every file against the manifest and the manifest against `digest`. Raises SnapshotError."""
    try:
        manifest = (path / MANIFEST).read_bytes()
        if sha256(manifest).hexdigest() != digest:
            raise SnapshotError(f"snapshot {path} is not the one that was released (manifest digest differs)")
        for name, expected in json.loads(manifest)["files"].items():
            if file_digest(path / name) != expected:
                raise SnapshotError(f"snapshot {path}: {name} is damaged")
    except FileNotFoundError as error:
        raise SnapshotError(f"snapshot {path} is gone or incomplete: {error.filename} is missing") from error


def prune(directory: Path, keep: int) -> None:
    """Remove all but the newest `keep` snapshots, and drafts that dead processes left."""
    finished = sorted(directory.glob("v*"))
    for old in [*finished[: max(0, len(finished) - keep)], *directory.glob(".retired-*")]:
        shutil.rmtree(old, ignore_errors=True)
    for draft in directory.glob(".draft-*"):
        if not Path(f"/proc/{draft.name.rpartition('-')[2]}").exists():
            shutil.rmtree(draft, ignore_errors=True)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _seal(draft: Path) -> str:
    files = sorted(p for p in draft.rglob("*") if p.is_file())
    listing = {str(p.relative_to(draft)): file_digest(p) for p in files}
    manifest = json.dumps({"files": listing}, indent=1, sort_keys=True).encode()
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
