"""Which files an archive can be. No I/O."""

import re
from pathlib import Path

from consumers.archive.manifest import ArchiveError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def check(path: Path) -> None:
    """Raises ArchiveError for a URL, which is no file here, and for a name that is no text."""
    if _URL.match(str(path)):
        raise ArchiveError(f"{path} is a URL: name a file of this machine, and copy it there yourself.")
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise ArchiveError(f"{path}: its name is no UTF-8. Name another file, or rename it.") from error
