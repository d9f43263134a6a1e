"""A file that appears whole or not at all."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from consumers.archive.manifest import ArchiveError
from mentor_stream.causes import causes
from mentor_stream.disk import REFUSALS
from mentor_stream.drafts import fullness, is_debris, sync

_REFUSALS = REFUSALS | {errno.ENOENT}
"""A place where no file can be made has none. What a broker says is none of it."""


class FolderGone(ArchiveError):
    """The folder that the file was to be in is there no more under its name."""


@contextmanager
def drafted(path: Path, *, force: bool) -> Generator[Path]:
    """A place to write to, beside `path`, which takes that name when the block ends well.

    Else nothing is left of it, nor of what killed processes began. Raises ArchiveError for a file that is
    there, without `force`, and for what the disk refuses.
    """
    draft = path.with_name(f".{path.name}.draft-{os.getpid()}")
    try:
        _refuse_existing(path, force=force)
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        with _staying(path):
            yield draft
            sync(draft)
            _refuse_existing(path, force=force)
            draft.replace(path)
            sync(path.parent)
    except FolderGone:
        raise
    except Exception as error:
        cause = _refusal(error) or fullness(path.parent)  # before its room is given back
        _remove(draft)
        if cause:
            raise ArchiveError(
                f"{path} could not be written: {cause}. Nothing is left of it. Make room, or name another "
                "file."
            ) from error
        raise
    except BaseException:
        _remove(draft)
        raise


@contextmanager
def _staying(path: Path) -> Generator[None]:
    """Whatever fails in the block since the folder is gone, fails for that. Raises FolderGone."""
    try:
        yield
    except Exception as error:
        if path.parent.is_dir():
            raise
        raise FolderGone(
            f"{path} could not be written: its folder was removed or renamed meanwhile. Start it again, or "
            "name another file."
        ) from error


def _refuse_existing(path: Path, *, force: bool) -> None:
    if path.exists() and not path.is_file():
        raise ArchiveError(f"{path} is there already, and no file: name another.")
    if path.exists() and not force:
        raise ArchiveError(f"{path} is there already: name another file, or use --force to replace it.")


def _clear(path: Path) -> None:
    for debris in _named_like(path.with_name(f".{path.name}.draft-")):
        if is_debris(debris.name.removeprefix(f".{path.name}.draft-").partition("-")[0]):
            debris.unlink(missing_ok=True)


def _remove(draft: Path) -> None:
    for debris in _named_like(draft):  # SQLite has two more beside it
        debris.unlink(missing_ok=True)


def _named_like(path: Path) -> list[Path]:
    """The files beside it whose names begin with its own. No pattern: there may be an asterisk in a name."""
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    return [found for found in beside if found.name.startswith(path.name)]


def _refusal(error: Exception) -> str | None:
    """What the disk said, if that is what it is: libraries wrap it in errors of their own."""
    for cause in causes(error):
        found: BaseException | None = cause
        while found is not None:
            if isinstance(found, OSError) and found.errno in _REFUSALS:
                return os.strerror(found.errno)
            if "disk is full" in str(found):  # SQLite's
                return os.strerror(errno.ENOSPC)
            found = found.__cause__ or found.__context__
    return None
