"""Responses read up to a length, errors too: no endpoint fills the memory, whatever it sends."""

from collections.abc import AsyncIterator

import httpx2

MAX_BYTES = 2**22
"""Of a response. The longest reply that is read has 64,000 characters; the rest is for thinking."""


class TooLong(Exception):
    """A response that was given up."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_BYTES:
                raise TooLong(f"the response is longer than {MAX_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: httpx2.Response) -> None:
    """A client's hook for responses. Raises TooLong, also later while the response is read.

    A compressed response is refused, since few bytes of it may be many: it was asked for without.
    """
    coding = response.headers.get("content-encoding", "identity")
    if coding not in ("", "identity"):
        raise TooLong(f"the response is compressed ({coding[:20]!a}), which was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(response.stream)
