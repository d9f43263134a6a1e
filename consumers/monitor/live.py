"""What goes by, as server-sent events. A client that is slow is told less often, never more at once."""

import json
import secrets
from collections.abc import AsyncGenerator

import anyio

from consumers.monitor.board import Board

PAUSE_SECONDS = 0.5
"""At least, between two events."""
BEAT_SECONDS = 5.0
"""At most: a client that hears nothing for longer knows that something is wrong."""
POINTS = 2_000
"""Told as additions; then everything is told again, since a client keeps every addition."""


class Live:
    """The event streams of all clients. An id is `<this server>-<how far the client has read>`."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._server = secrets.token_hex(4)

    async def events(self, last_id: str) -> AsyncGenerator[str]:
        """Events behind `last_id`; the first is everything when that is not of this server."""
        mark, added = self._mark(last_id), 0
        while True:
            board = self._board
            if added > POINTS:
                mark, added = 0, 0
            document, kind = board.document(mark), "more" if mark else "all"
            # what is taken from now on has this mark: it may not be told twice, nor be left out
            mark = board.seal()
            added += sum(len(curve["points"]) for curve in document["curves"].values())
            data = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            yield f"id: {self._server}-{mark}\nevent: {kind}\ndata: {data}\n\n"
            await self._pause(mark)

    async def _pause(self, mark: int) -> None:
        """Until there is news, or the client should hear from us all the same."""
        with anyio.move_on_after(BEAT_SECONDS):
            await anyio.sleep(PAUSE_SECONDS)
            await self._board.news(mark)

    def _mark(self, last_id: str) -> int:
        server, _, mark = last_id.partition("-")
        if server != self._server or not (mark.isascii() and mark.isdigit() and len(mark) < 16):
            return 0
        return int(mark)
