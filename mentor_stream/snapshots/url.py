"""Where snapshots lie: a path that all readers see, or a URL of object storage."""

import re
from collections.abc import Iterator
from pathlib import Path

ON_DISK = ("file", "local")
"""Schemes of what is a path."""


def local(uri: str) -> Path | None:
    """The path that a URI is, with or without `file://`; None for what is in a store."""
    scheme, separator, path = uri.partition("://")
    if not separator:
        return Path(uri)
    return Path(path) if scheme in ON_DISK else None


def problems(url: str) -> Iterator[str]:
    """Why this cannot be `run.snapshots`, from the text alone. Neither user nor password is shown."""
    shown = re.sub(r"(?<=://)[^/]*@", "***@", re.sub(r"\?.*", "?***", url))
    where = f"run.snapshots is {shown!r}"
    scheme, separator, rest = url.partition("://")
    if not url.strip():
        yield f"{where}: give a directory, or a URL such as s3://bucket/path, or leave it out."
    elif not separator:
        return
    elif "@" in url:
        yield (
            f"{where}: user and password do not belong in a URL, which is on the stream for all to read. The "
            "store's package takes them from the environment, such as AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY."
        )
    elif not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) or "::" in url or re.search(r"[\s?#]", url):
        yield f"{where}: expected scheme://bucket/path, without a query, a second scheme or a space."
    elif not rest.strip("/"):
        yield f"{where}: it names no bucket. Give a URL such as s3://bucket/path."
