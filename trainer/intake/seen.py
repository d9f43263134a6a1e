"""Which groups have come before: the ids of the last ones, small enough to be part of every checkpoint."""

from hashlib import blake2b

REMEMBERED = 1_000_000
"""Ids kept to recognise a repeat: far more than can be under way at once."""
_DIGEST = 16
"""Bytes kept of each."""


class Seen:
    """The last REMEMBERED group ids, oldest first."""

    def __init__(self, kept: bytes = b"") -> None:
        digests = (kept[i : i + _DIGEST] for i in range(0, len(kept), _DIGEST))
        self._digests: dict[bytes, None] = dict.fromkeys(digests)

    def add(self, group_id: str) -> bool:
        """Whether this is the first time, as far as is remembered."""
        digest = blake2b(group_id.encode(), digest_size=_DIGEST).digest()
        if digest in self._digests:
            return False
        self._digests[digest] = None
        if len(self._digests) > REMEMBERED:
            del self._digests[next(iter(self._digests))]
        return True

    def dump(self) -> bytes:
        """What `Seen(kept)` continues from."""
        return b"".join(self._digests)
