"""Where the sender is: `host:port`, and what network addresses follow from it."""

import re
import socket

_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")


def split(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`. Raises ValueError."""
    found = _ADDRESS.fullmatch(address)
    if not found or not 0 < int(found[3]) < 2**16:
        raise ValueError("expected host:port, the trainer's host as servers reach it, such as trainer:29600")
    return found[1] or found[2], int(found[3])


def own(other: str, port: int = 9) -> str:
    """This machine's IP address on the way to another. Nothing is sent. Raises OSError."""
    family, kind, protocol, _, place = socket.getaddrinfo(other, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as way:
        way.connect(place)
        return way.getsockname()[0]
