"""The manifest of a snapshot: the files it has, by their digests. Its own digest is the snapshot's."""

from hashlib import sha256
from pathlib import Path, PurePosixPath

import msgspec

MANIFEST = "manifest.json"


class SnapshotError(Exception):
    """A snapshot that is gone, damaged or could not be written."""


class StoreError(SnapshotError):
    """A store, or the disk of those who read from it, that does not do what is asked: later it may."""


class Manifest(msgspec.Struct, frozen=True):
    """The manifest's content."""

    files: dict[str, str]
    """SHA-256 of every file by its path inside the snapshot."""


def parse(data: bytes, digest: str, where: str) -> Manifest:
    """The manifest with this digest. Raises SnapshotError when it is another, or leads elsewhere."""
    if sha256(data).hexdigest() != digest:
        raise SnapshotError(f"snapshot {where} is not the one that was released (manifest digest differs)")
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except ValueError as error:
        raise SnapshotError(f"snapshot {where} cannot be read: its manifest is none ({error})") from error
    for name in manifest.files:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts or "\0" in name:
            raise SnapshotError(f"snapshot {where}: its manifest names {name!r}, which lies elsewhere")
    return manifest


def verify(path: Path, digest: str) -> None:
    """Check every file against the manifest and the manifest against `digest`. Raises SnapshotError."""
    try:
        manifest = (path / MANIFEST).read_bytes()
        for name, expected in parse(manifest, digest, str(path)).files.items():
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
    digest, known = sha256(), sealed(place)
    for path in [place / "config.json", *sorted(place.glob("*.safetensors"))]:
        of_file = known.get(path.name) or file_digest(path)
        digest.update(f"{path.name} {of_file}\n".encode())
    return digest.hexdigest()


def is_whole(place: Path, digest: str) -> bool:
    """Whether it is the snapshot with this digest, by its manifest, and no file was written since."""
    try:
        manifest = parse((place / MANIFEST).read_bytes(), digest, str(place))
    except (OSError, SnapshotError):
        return False
    return sealed(place).keys() == manifest.files.keys()


def sealed(place: Path) -> dict[str, str]:
    """Digests of a snapshot's files, as its manifest has them; without those that were written after it."""
    manifest = place / MANIFEST
    try:
        files = msgspec.json.decode(manifest.read_bytes(), type=Manifest).files
        since = manifest.stat().st_mtime_ns
        return {name: known for name, known in files.items() if (place / name).stat().st_mtime_ns <= since}
    except (OSError, ValueError):  # no snapshot, or a damaged one
        return {}


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
