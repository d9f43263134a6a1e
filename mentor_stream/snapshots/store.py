"""A directory of snapshots in object storage, through fsspec.

A snapshot is a prefix `v<version>-<digest>`: other content has another name, so nothing that is there is ever
written over with something else. Its manifest is written last and removed first: what has one is whole.
Keys come from the environment, as the store's package reads them; no URL and no log line holds any.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from mentor_stream.snapshots.attempts import persist, reason, within
from mentor_stream.snapshots.manifest import MANIFEST, SnapshotError, StoreError, file_digest, parse
from mentor_stream.snapshots.url import local

PROBE_SECONDS = 20.0
_TALKATIVE = ("aiobotocore", "botocore")
"""Loggers that tell at every connection where they found their keys."""
NAME = re.compile(r"v(\d{8,})-[0-9a-f]{16}")

T = TypeVar("T")


def name_of(version: int, digest: str) -> str:
    """What a snapshot is called in a store."""
    return f"v{version:08d}-{digest[:16]}"


class Store:
    """What is under a URL. Every call ends by `deadline` (of time.monotonic), whatever becomes of the store.

    What fails is tried again until then, and `again` is told each time. Raises StoreError, and
    FileNotFoundError for what is not there.
    """

    def __init__(self, url: str, deadline: float, again: Callable[[], None] = lambda: None) -> None:
        self.url, self._deadline, self._again = url.rstrip("/"), deadline, again
        self._opened: tuple[Any, str] | None = None

    def put(self, snapshot: Path, name: str, digest: str) -> None:
        """Bring a snapshot there, unless it is there already."""
        manifest = (snapshot / MANIFEST).read_bytes()
        if self._has(f"{name}/{MANIFEST}"):
            return
        for file in parse(manifest, digest, str(snapshot)).files:
            self._put_file(snapshot / file, f"{name}/{file}")
        self._ask(f"{name}/{MANIFEST}", lambda fs, there: fs.pipe_file(there, manifest))

    def read(self, file: str) -> bytes:
        """A small file."""
        return self._ask(file, lambda fs, there: fs.cat_file(there))

    def get(self, file: str, digest: str, target: Path) -> None:
        """Bring a file here. Raises SnapshotError when it is not what its digest says, twice in a row."""
        target.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            draft = target.with_name(f".{secrets.token_hex(4)}")  # its own: a try that was given up may go on
            self._get_file(file, draft)
            if file_digest(draft) == digest:
                draft.rename(target)
                return
            draft.unlink()
        raise SnapshotError(f"snapshot {self.url}: {file} is damaged")

    def contents(self) -> dict[str, bool]:
        """The snapshots there by their names, and whether each is whole."""
        found: dict[str, bool] = {}
        try:
            root, paths = self._ask("", lambda fs, there: (there, fs.find(there)))
        except FileNotFoundError:
            return found
        for path in paths:
            name, _, file = str(path).removeprefix(root).strip("/").partition("/")
            if NAME.fullmatch(name):
                found[name] = found.get(name, False) or file == MANIFEST
        return found

    def remove(self, name: str) -> None:
        """Take a snapshot away."""
        if self._has(f"{name}/{MANIFEST}"):
            self._ask(f"{name}/{MANIFEST}", lambda fs, there: fs.rm_file(there))
        with suppress(FileNotFoundError):  # the manifest was all there was
            self._ask(name, lambda fs, there: fs.rm(there, recursive=True))

    def _has(self, path: str) -> bool:
        return self._ask(path, lambda fs, there: fs.exists(there))

    def _put_file(self, source: Path, path: str) -> None:
        self._ask(path, lambda fs, there: fs.put_file(str(source), there))

    def _get_file(self, path: str, target: Path) -> None:
        self._ask(path, lambda fs, there: fs.get_file(there, str(target)))

    def _ask(self, path: str, work: Callable[[Any, str], T]) -> T:
        def asked() -> T:
            fs, root = self._open()
            return work(fs, f"{root}/{path}".rstrip("/"))

        return persist(asked, f"{self.url}/{path}".rstrip("/"), self._deadline, self._again)

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            self._opened = _filesystem(self.url)
        return self._opened


def problem(url: str) -> str | None:
    """Why nothing can be read or written there from this machine, or None. Asks nobody: see `probe`."""
    if local(url) is not None:
        return None
    try:
        _class(url)
    except ImportError as error:  # such as "Install s3fs to access S3"
        return f"run.snapshots is {url!r}: {error}. It is needed on every machine that trains or samples."
    except ValueError as error:
        return f"run.snapshots is {url!r}: {error}"
    return None


def probe(url: str) -> str | None:
    """Why nothing can be written, read and removed there, tried with a small object; None when it can."""
    if local(url) is not None:
        return None
    name = f".probe-{secrets.token_hex(8)}"

    def work() -> None:
        fs, root = _filesystem(url)
        fs.pipe_file(f"{root}/{name}", b"probe")
        if fs.cat_file(f"{root}/{name}") != b"probe":
            raise StoreError("what was written is not what is read")
        fs.rm_file(f"{root}/{name}")

    try:
        within(PROBE_SECONDS, work)
    except FileNotFoundError as error:
        said = f"{reason(error)}. Make the bucket, or name another"
    except PermissionError as error:
        said = f"{reason(error)}. Give it keys that may write, read, list and delete there"
    except TimeoutError:
        said = f"no answer within {PROBE_SECONDS:g} s. Is its address right, and is it up?"
    except Exception as error:  # each store's package has its own
        said = f"{reason(error)}. Its package takes address and keys from the environment"
    else:
        return None
    return f"run.snapshots is {url!r}: {said.rstrip('.')}."


def superseded(contents: dict[str, bool], current: str, keep: int) -> list[str]:
    """Names to be removed once `current` is out: what is not whole, what a resumed trainer took back, and all
    but the newest `keep`. Pure."""
    newest = _version(current)
    whole = sorted(
        (_version(name), name) for name, is_whole in contents.items() if is_whole and name != current
    )
    older = [name for version, name in whole if version < newest]
    kept = {current, *older[max(0, len(older) - keep + 1) :]}
    return [name for name in contents if name not in kept]


def deadline(seconds: float) -> float:
    """So many seconds from now, of time.monotonic."""
    return time.monotonic() + seconds


def _version(name: str) -> int:
    found = NAME.fullmatch(name)
    assert found is not None
    return int(found[1])


def _class(url: str) -> Any:
    """The store's class. Raises ImportError and ValueError, each with the way out."""
    scheme = url.partition("://")[0]
    try:
        return _fsspec().get_filesystem_class(scheme)
    except ValueError:
        raise ValueError(f"fsspec knows no {scheme}://. Use a store such as s3://, gs:// or az://.") from None


def _filesystem(url: str) -> tuple[Any, str]:
    """The store anew, without what earlier ones remember of it, and the path that the URL is there."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    return _fsspec().url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)


def _fsspec() -> Any:
    try:
        import fsspec  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise ImportError("Install fsspec: pip install 'mentor-stream[store]'") from None
    return fsspec
