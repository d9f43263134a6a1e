"""A released snapshot, open for sending: it may be removed meanwhile."""

import json
import mmap
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Lock

from mentor_stream import snapshots
from mentor_stream.snapshots import MANIFEST, SnapshotError
from mentor_stream.weights import messages
from mentor_stream.weights.messages import BUCKET_BYTES, Garbled, Offer


class Opened:
    """The weights' files of a snapshot, mapped: nothing of them is in memory before it is read."""

    def __init__(self, path: Path) -> None:
        """Raises SnapshotError when it is gone, or nothing that can be sent."""
        try:
            config = json.loads((path / "config.json").read_bytes())
            mapped = [_mapped(file) for file in sorted(path.glob("*.safetensors"))]
            files = tuple(messages.read_header(header) for _, header in mapped)
        except FileNotFoundError as error:
            raise SnapshotError(f"{path} is gone: {error.filename} is missing") from error
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{path} cannot be sent: {error}") from error
        if not files:
            raise SnapshotError(f"{path} cannot be sent: it holds no safetensors files")
        self.offer = Offer(config=config, files=files)
        self._maps = [(whole, 8 + len(header)) for whole, header in mapped]

    def buckets(self) -> Iterator[memoryview]:
        """The bytes of all weights, as the offer says (Offer.buckets)."""
        for file, (whole, start) in zip(self.offer.files, self._maps, strict=True):
            end = start + file.size
            for place in range(start, end, BUCKET_BYTES):
                yield memoryview(whole)[place : min(place + BUCKET_BYTES, end)]


class Shelf:
    """The snapshots in the trainer's directory, by their digests; each is verified once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._verified: set[str] = set()
        self._turn = Lock()

    def open(self, digest: str) -> Opened:
        """Raises SnapshotError when none has this digest, or its files are not those that were released."""
        path = self._find(digest)
        opened = Opened(path)
        with self._turn:
            if digest not in self._verified:
                snapshots.verify(path, digest)
                self._verified.add(digest)
        return opened

    def _find(self, digest: str) -> Path:
        for path in reversed(snapshots.versions(self._directory)):
            try:
                if sha256((path / MANIFEST).read_bytes()).hexdigest() == digest:
                    return path
            except FileNotFoundError:
                continue
        raise SnapshotError(f"the trainer has no snapshot {digest[:12]}, or no more")


def _mapped(file: Path) -> tuple[mmap.mmap, bytes]:
    """The whole file, and the header in it."""
    with file.open("rb") as opened:
        whole = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    length = int.from_bytes(whole[:8], "little")
    if length > len(whole) - 8:
        raise Garbled(f"{file.name} is no safetensors file, or cut")
    return whole, whole[8 : 8 + length]
