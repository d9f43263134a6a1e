"""What a disk refuses, told of the path that a user named."""

import errno
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mentor_stream.config import ConfigError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What room would help with."""
REFUSALS = FULL | {
    errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ENAMETOOLONG, errno.ELOOP,
}  # fmt: skip
"""What comes of the path or its disk; of networks, processes and missing files it is none."""

TRIED_BYTES = 4096
"""A full disk may take files, and nothing into them."""


class Unwritable(ConfigError):
    """A disk took nothing."""


@contextmanager
def writing(option: str, path: Path) -> Generator[None]:
    """The block that writes `path`, given as `option`. Raises Unwritable for what its disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS and not _cannot_be_made(path, error):
            raise
        why = f"{error.filename} is no folder" if error.errno == errno.EEXIST else error.strerror
        way_out = "Make room, or name a place elsewhere" if error.errno in FULL else "Name a place elsewhere"
        raise Unwritable(f"{option} is {str(path)!r}: it cannot be written ({why}). {way_out}") from error


def check_file(option: str, path: Path) -> None:
    """Before the work: make the folder of a file that is to be written, and try it. Raises Unwritable.

    A file that is there stays as it is.
    """
    with writing(option, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.open("ab").close()
        else:
            _try(path.parent)


def check_folder(option: str, path: Path) -> None:
    """Before the work: make a folder that is to be written into, and try it. Raises Unwritable."""
    with writing(option, path):
        path.mkdir(parents=True, exist_ok=True)
        _try(path)


def _try(folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TRIED_BYTES))
    except FileNotFoundError as error:  # of a name that nobody knows
        error.filename = str(folder)
        raise


def _cannot_be_made(path: Path, error: OSError) -> bool:
    """Whether what is missing is the path itself: some file systems, /proc for one, let nothing be made."""
    if error.errno != errno.ENOENT or not isinstance(error.filename, str):
        return False
    wanted, missing = Path(os.path.abspath(path)), Path(os.path.abspath(error.filename))  # noqa: PTH100
    return missing == wanted or missing in wanted.parents or wanted in missing.parents
