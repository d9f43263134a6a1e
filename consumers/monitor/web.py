"""The pages and documents that the monitor serves. Reads only, whatever is asked."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from importlib.resources import files

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from consumers.monitor.board import Board
from consumers.monitor.documents import Document
from consumers.monitor.gate import Gate
from consumers.monitor.inquiry import Busy, Inquiry
from consumers.monitor.live import Live
from consumers.monitor.measures import LATEST_TIME
from consumers.monitor.watching import Watching
from mentor_stream.broker import Broker, BrokerError

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
CLIENTS = 64
"""That follow at once."""
LONGEST_SEARCH = 200
"""Characters."""
AWAY = "The broker does not answer."


class Site:
    """What each path answers."""

    def __init__(self, board: Board, watching: Watching, live: Live) -> None:
        self._board, self._watching, self._live = board, watching, live
        self._inquiry = Inquiry(board)
        self._clients = 0

    async def state(self, _: Request) -> Response:
        """Everything the page begins with."""
        return JSONResponse(self._board.document())

    async def health(self, _: Request) -> Response:
        """That the monitor serves; whether the broker answers is told, and no reason to restart it."""
        away = self._board.stand.away
        return JSONResponse({"ok": True, "broker_away": away or None})

    async def events(self, request: Request) -> Response:
        """Server-sent events, from where the client was on."""
        if self._clients >= CLIENTS:
            raise HTTPException(503, f"{CLIENTS} clients follow already.", {"retry-after": "10"})
        self._clients += 1
        return EventStream(self._live.events(request.headers.get("last-event-id", "")), self._left)

    def _left(self) -> None:
        self._clients -= 1

    async def hints(self, request: Request) -> Response:
        """Hints, newest first: `search`, `before`."""
        search = request.query_params.get("search", "")
        if len(search) > LONGEST_SEARCH:
            raise HTTPException(400, f"search: {len(search)} characters, {LONGEST_SEARCH} are taken.")
        before = _moment(request)
        return await self._asked(lambda broker: self._inquiry.hints(broker, search, before))

    async def questions(self, request: Request) -> Response:
        """Questions with their hints, newest first: `search`, `before`."""
        search = request.query_params.get("search", "")
        if not 0 < len(search) <= LONGEST_SEARCH:
            raise HTTPException(400, f"search: expected 1 to {LONGEST_SEARCH} characters, not {len(search)}.")
        before = _moment(request)
        return await self._asked(lambda broker: self._inquiry.questions(broker, search, before))

    async def question(self, request: Request) -> Response:
        """One question's history: `key`, `before`."""
        key, before = request.query_params.get("key", ""), _moment(request)
        if len(key) != 16 or not set(key) <= set("0123456789abcdef"):
            raise HTTPException(400, "key: expected the question_key of a hint, 16 hexadecimal digits.")
        return await self._asked(lambda broker: self._inquiry.question(broker, key, before))

    async def _asked(self, ask: Callable[[Broker], Awaitable[Document]]) -> Response:
        if self._watching.broker is None:
            raise HTTPException(503, self._board.stand.away or AWAY)
        try:
            return JSONResponse(await ask(self._watching.broker))
        except Busy as error:
            raise HTTPException(503, "Too many ask at once.", {"retry-after": "2"}) from error
        except BrokerError as error:
            raise HTTPException(503, str(error)) from error


class EventStream(Response):
    """Sends events until the client is gone. Each is asked for when the one before has been taken."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str], left: Callable[[], None]) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._events, self._left = events, left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await self._send(receive, send)
        finally:
            self._left()

    async def _send(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with anyio.create_task_group() as tasks:

            async def end_with_client() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(end_with_client)
            async with aclosing(self._events):
                async for event in self._events:
                    await send({"type": "http.response.body", "body": event.encode(), "more_body": True})


def application(site: Site, *, names: list[str], token: str | None) -> Starlette:
    """The ASGI application."""
    routes = [
        Route("/state", site.state),
        Route("/events", site.events),
        Route("/hints", site.hints),
        Route("/questions", site.questions),
        Route("/question", site.question),
        Route("/healthz", site.health),
        *(Route(path, answer) for path, answer in _page().items()),
    ]
    gate = Middleware(Gate, names=names, token=token)
    return Starlette(routes=routes, middleware=[gate], exception_handlers={HTTPException: _problem})


def _moment(request: Request) -> float | None:
    """Seconds since the epoch, of `before`; None where it is left out."""
    text = request.query_params.get("before", "")
    if not text:
        return None
    try:
        moment = float(text[:40])
    except ValueError:
        moment = -1.0
    if not 0 <= moment < LATEST_TIME:
        raise HTTPException(400, "before: expected seconds since the epoch.")
    return moment


def _page() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The files of the page, each under its own path: no path leads anywhere else."""
    found: dict[str, Callable[[Request], Awaitable[Response]]] = {}
    for file in files("consumers.monitor").joinpath("page").iterdir():
        kind = KINDS.get("." + file.name.rpartition(".")[2])
        if kind:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = _constant(file.read_bytes(), kind)
    return found


def _constant(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return answer


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
