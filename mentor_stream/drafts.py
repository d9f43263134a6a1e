"""What those have in common who write files that appear whole or not at all. Imports nothing of ours."""

import errno
import os
from pathlib import Path

FULL_BYTES = 2**20
"""A disk with less room is full."""


def sync(path: Path) -> None:
    """Have what was written there, a file or the names in a directory, survive the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fullness(path: Path) -> str | None:
    """That the disk is full, which not every writer says of what it could not write."""
    nearest = next((place for place in (path, *path.parents) if place.is_dir()), None)
    if nearest is None:
        return None
    found = os.statvfs(nearest)
    full = found.f_blocks and found.f_bavail * found.f_frsize < FULL_BYTES  # what is no disk has no blocks
    return os.strerror(errno.ENOSPC) if full else None


def is_debris(owner: str) -> bool:
    """Whether a draft of the process with this id is nobody's: of one that is gone, or had our own id."""
    return owner == str(os.getpid()) or not Path(f"/proc/{owner}").exists()
