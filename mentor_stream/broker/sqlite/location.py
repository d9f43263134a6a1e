"""What a `sqlite:` URL says: which file, and how careful and how patient to be with it."""

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from mentor_stream.broker.base import BrokerError
from mentor_stream.broker.sqlite import compression


@dataclass(frozen=True, slots=True)
class Location:
    """`sqlite:///relative.db` or `sqlite:////absolute.db`, with options after a question mark."""

    path: Path
    synchronous: str = "full"
    """`full`: acknowledged messages survive a power failure. `normal`: only crashes of processes."""
    lease: float = 5.0
    """Seconds without a sign of life after which a consumer's partitions go to others."""
    timeout: float = 30.0
    """Seconds to wait for the file's write lock before the broker counts as unavailable."""
    compression: str = "none"
    """What producers do to values, `gzip` or `lz4` costing processor time; readers read all."""
    create: bool = True
    """Whether the file is made when there is none. Not an option of the URL: whoever opens it knows."""


def parse(url: str) -> Location:
    """The location in `url`. Raises BrokerError that names the part that cannot be."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if parts.netloc or not path or path.endswith("/") or "\0" in path:
        raise BrokerError(f"run.broker is {url!r}: expected sqlite:///relative.db or sqlite:////absolute.db")
    location = Location(Path(path))
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name == "synchronous" and text in ("full", "normal"):
            location = replace(location, synchronous=text)
        elif name == "synchronous":
            raise BrokerError(f"run.broker is {url!r}: synchronous={text}; use full or normal")
        elif name == "compression":
            location = replace(location, compression=_compression(url, text))
        elif name in ("lease", "timeout"):
            location = replace(location, **{name: _seconds(url, name, text)})
        else:
            raise BrokerError(
                f"run.broker is {url!r}: no option {name!r}; known: synchronous, lease, timeout, compression"
            )
    return location


def _compression(url: str, text: str) -> str:
    if text not in compression.NAMES:
        known = " or ".join(compression.NAMES)
        raise BrokerError(f"run.broker is {url!r}: compression={text}; use {known}")
    compression.check(text)
    return text


def _seconds(url: str, name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise BrokerError(f"run.broker is {url!r}: {name}={text}; expected seconds, from 0.1 to 86400")
    return seconds
