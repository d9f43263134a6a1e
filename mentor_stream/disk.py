"""What a disk refuses, told of the path that a user named."""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mentor_stream.config import ConfigError

REFUSALS = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
        errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP,
    }
)  # fmt: skip
"""What comes of the path or its disk; of networks, processes and missing files it is none."""


@contextmanager
def writing(option: str, path: Path) -> Generator[None]:
    """The block that writes `path`, given as `option`. Raises ConfigError for what its disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        raise ConfigError(
            f"{option} is {str(path)!r}: it cannot be written ({error.strerror}). Make room, or name a place "
            "elsewhere"
        ) from error
