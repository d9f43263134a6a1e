"""Policy snapshots: Hugging Face directories that appear whole or not at all, here or in object storage.

directory.py writes them on a disk and removes old ones; manifest.py is how a damaged one is told from a good
one. Between hosts they go through a store (store.py; attempts.py is its patience): readers have what they
need in a cache on their own disk (cache.py), and presence.py tells which are there still. url.py says what is
a path and what a store. Knows files, not models: imports no torch, and fsspec only for a URL that needs it.
"""

from mentor_stream.snapshots.cache import Hold, hold
from mentor_stream.snapshots.directory import Snapshot, prune, take_back, versions, write
from mentor_stream.snapshots.manifest import (
    MANIFEST,
    Manifest,
    SnapshotError,
    StoreError,
    file_digest,
    identity,
    verify,
)
from mentor_stream.snapshots.presence import present
from mentor_stream.snapshots.store import probe
from mentor_stream.snapshots.store import problem as missing
from mentor_stream.snapshots.url import local, problems

__all__ = [
    "MANIFEST",
    "Hold",
    "Manifest",
    "Snapshot",
    "SnapshotError",
    "StoreError",
    "file_digest",
    "hold",
    "identity",
    "local",
    "missing",
    "present",
    "probe",
    "problems",
    "prune",
    "take_back",
    "verify",
    "versions",
    "write",
]
