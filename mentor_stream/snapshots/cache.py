"""Snapshots of a store on this host's disk: fetched once for all processes, whole or not at all, few of them.

A snapshot is a directory named by its digest. Directories are locked themselves: shared by those who read
one, exclusively by who fetches or removes it; locks end with their process. So whoever is killed leaves a
draft that the next one goes on with or removes, and nothing is removed under a reader.
"""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mentor_stream.drafts import sync
from mentor_stream.snapshots.attempts import reason
from mentor_stream.snapshots.manifest import (
    MANIFEST,
    SnapshotError,
    StoreError,
    file_digest,
    is_whole,
    parse,
    verify,
)
from mentor_stream.snapshots.store import Store, deadline
from mentor_stream.snapshots.url import local, problems

ENVIRONMENT = "MENTOR_STREAM_CACHE"
"""The environment variable that names its directory: that is a host's, and vLLM has no config of ours."""
KEEP = 3
"""Snapshots in it, of all runs together; more while more are in use."""
SECONDS = 900.0
"""For one to come."""
LOOK_SECONDS = 0.2
"""Between looks at what another process fetches."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DRAFT, _RETIRED = ".draft-", ".retired-"


class Hold:
    """A snapshot on this machine, which stays until it is let go."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path, self._lock = path, lock

    def close(self) -> None:
        """Let it go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def hold(uri: str, digest: str, seconds: float = SECONDS) -> Hold:
    """The snapshot on this machine: where it lies, if it does, else fetched within so many seconds. Verified.

    Raises SnapshotError when it is gone or damaged; StoreError when store, network or disk do not do.
    """
    path = local(uri)
    if path is not None:
        verify(path, digest)
        return Hold(path)
    if not _DIGEST.fullmatch(digest) or any(problems(uri)):
        raise SnapshotError(f"snapshot {uri[:200]!r}, digest {digest[:80]!r}: no release of ours says that")
    try:
        return _fetched(uri, digest, deadline(seconds))
    except FileNotFoundError as error:
        raise SnapshotError(f"snapshot {uri} is gone or incomplete: {reason(error)}") from error
    except ImportError as error:
        raise StoreError(f"snapshot {uri}: {error}") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        raise StoreError(
            f"snapshot {uri} cannot be kept on this disk: {reason(error)}. Free space there, or set "
            f"{ENVIRONMENT} in the environment to another directory."
        ) from error


def directory() -> Path:
    """Of the cache."""
    if named := os.environ.get(ENVIRONMENT):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mentor-stream" / "snapshots"


def _fetched(uri: str, digest: str, until: float) -> Hold:
    home = directory()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    place, draft = home / digest, home / f"{_DRAFT}{digest}"
    while True:
        if (lock := _locked(place, fcntl.LOCK_SH)) is not None:
            if is_whole(place, digest):
                with suppress(OSError):  # of a disk that only gives what it has
                    os.utime(place)
                return Hold(place, lock)
            os.close(lock)
            _remove(place)  # somebody wrote to it
        elif not place.exists():
            draft.mkdir(exist_ok=True)
            if (lock := _locked(draft, fcntl.LOCK_EX)) is not None:
                try:
                    _fill(draft, place, Store(uri, until), digest)
                finally:
                    os.close(lock)
                continue
        if time.monotonic() > until:
            raise StoreError(_occupied(uri, place if place.exists() else draft))
        time.sleep(LOOK_SECONDS)


def _occupied(uri: str, path: Path) -> str:
    """Why it was waited for in vain: what lies there is locked by a process that does not let go of it."""
    if path.name.startswith(_DRAFT):
        what = f"another process fetches it into {path} and is not done"
    else:
        what = f"what lies in {path} is damaged, and another process that uses it keeps it there"
    return f"snapshot {uri}: {what}. End that process if it hangs (`fuser {path}` names it)."


def _fill(draft: Path, place: Path, store: Store, digest: str) -> None:
    """Fetch into a draft that is ours alone, and have it appear. Nothing is left of it when that fails."""
    if place.exists():  # another was faster
        draft.rmdir()
        return
    try:
        _make_room(place.parent, draft)
        manifest = store.read(MANIFEST)
        files = parse(manifest, digest, store.url).files
        for left in draft.rglob("*"):  # by one that was killed
            if left.is_file() and files.get(str(left.relative_to(draft))) != file_digest(left):
                left.unlink()
        for name in files:
            if not (draft / name).exists():
                store.get(name, files[name], draft / name)
                sync(draft / name)
        (draft / MANIFEST).write_bytes(manifest)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _make_room(home: Path, draft: Path) -> None:
    """Remove drafts that nobody works on, and what was used longest ago."""
    for left in home.glob(f"{_RETIRED}*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in home.glob(f"{_DRAFT}*"):
        if left != draft:
            _remove(left)
    for old in list(_by_use(home))[KEEP - 1 :]:
        _remove(old)


def _by_use(home: Path) -> Iterator[Path]:
    """Snapshots, the one used last first."""
    found: list[tuple[float, Path]] = []
    for path in home.iterdir():
        if _DIGEST.fullmatch(path.name):
            try:
                found.append((path.stat().st_mtime, path))
            except FileNotFoundError:
                continue
    return (path for _, path in sorted(found, reverse=True))


def _remove(path: Path) -> None:
    """Remove a directory unless somebody uses it."""
    if (lock := _locked(path, fcntl.LOCK_EX)) is None:
        return
    try:
        retired = path.with_name(f"{_RETIRED}{secrets.token_hex(8)}")
        path.rename(retired)
        shutil.rmtree(retired, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(path: Path, kind: int) -> int | None:
    """A lock on the directory, unless it is not there or somebody has one that excludes it."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass  # in use, or renamed meanwhile
    os.close(lock)
    return None
