"""Replies kept by what was asked, so that the same questions get the same answers again, at no cost.

One file a reply, named by a digest of the whole request: another prompt, model or setting finds nothing. Who
asks the same twice in one case, for another draft, gets a first and a second reply, again in that order.
"""

import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from mentor_stream import disk


class Kept(msgspec.Struct, frozen=True):
    """A response as the endpoint gave it."""

    response: Any
    seconds: float
    """What it took then."""


class Replies:
    """A directory of replies. Several processes may use it at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.found = self.asked = 0
        """Replies that were there, and those that were not."""

    async def reply(self, key: str, ask: Callable[[], Awaitable[Any]]) -> Kept:
        """The reply under a key, asked for when there is none.

        Raises what `ask` raises: no failure is kept; Unwritable where the disk refuses.
        """
        path = self._directory / key[:2] / f"{key}.json"
        with disk.writing("--cache", self._directory):
            kept = _read(path)
        if kept is not None:
            self.found += 1
            return kept
        began = time.perf_counter()
        kept = Kept(await ask(), time.perf_counter() - began)
        self.asked += 1
        with disk.writing("--cache", self._directory):
            _write(path, msgspec.json.encode(kept))
        return kept


class Case:
    """The replies of one case: how often each request was made in it."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self._made: Counter[str] = Counter()

    async def reply(self, request: Mapping[str, Any], ask: Callable[[], Awaitable[Any]]) -> Kept:
        """The reply to a request, or to the same one made again. Raises what `ask` raises."""
        body = msgspec.json.encode(request, order="sorted")
        place = self._made[text := blake2b(body, digest_size=16).hexdigest()]
        key = blake2b(f"{text} {place}".encode(), digest_size=16).hexdigest()
        kept = await self._replies.reply(key, ask)
        self._made[text] += 1
        return kept


_current: ContextVar[Case | None] = ContextVar("case", default=None)


def current() -> Case | None:
    """The case that this task works on; None where replies are not kept."""
    return _current.get()


@contextmanager
def case(replies: Replies | None) -> Generator[None]:
    """A case whose replies are kept, for this task and those that it starts."""
    token = _current.set(Case(replies) if replies else None)
    try:
        yield
    finally:
        _current.reset(token)


def _read(path: Path) -> Kept | None:
    """What is kept there; None for nothing, or what is no reply."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)
