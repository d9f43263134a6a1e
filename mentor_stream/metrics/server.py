"""/metrics, /healthz and /readyz of one process, from a thread of its own.

It tells of a component that hangs, and the component hears nothing of it: connections are few, each has its
time, and a new one takes the place of the oldest, so that many slow clients keep no quick one out.
"""

import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import NamedTuple

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.stapled import MultiListener

from mentor_stream.config import Config, ConfigError
from mentor_stream.metrics import listening
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.health import Health
from mentor_stream.metrics.listening import Address
from mentor_stream.metrics.readings import OWN as READINGS

MOST_CLIENTS = 16
MOST_A_SECOND, BACKLOG = 200, 64
"""New connections, and how many wait to be one: a flood takes a bounded part of the process's time."""
CLIENT_SECONDS = 5.0
"""For a client to ask and to take its answer."""
MOST_REQUEST_BYTES = 16 * 2**10
FRESH_SECONDS = 0.5
"""A text of metrics is good for so long: whoever asks without pause costs little."""
PLAIN = "text/plain; charset=utf-8"
OPENMETRICS = "application/openmetrics-text"
"""The one form beside plain text. Nothing else that clients accept is looked at: it comes from outside."""
GONE = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.DelimiterNotFound,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    OSError,
)
"""What comes of clients that go away or send no request."""

log = logging.getLogger(__name__)


class Answer(NamedTuple):
    """To one request."""

    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN


class Site:
    """What is answered to whom. `metrics` takes a form that a client accepts: OPENMETRICS, or none."""

    def __init__(self, health: Health, metrics: Callable[[str], tuple[bytes, str]]) -> None:
        self._health, self._metrics = health, metrics
        self._made: dict[str, tuple[float, Answer]] = {}

    def answer(self, method: str, path: str, accept: str) -> Answer:
        """The answer to one request."""
        if method not in ("GET", "HEAD"):
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"GET or HEAD\n")
        match path.partition("?")[0]:
            case "/metrics":
                return self._fresh(OPENMETRICS if OPENMETRICS in accept.lower() else "")
            case "/healthz":
                return _told(self._health.stuck())
            case "/readyz":
                return _told(self._health.stuck() + self._health.lacking())
            case _:
                return Answer(HTTPStatus.NOT_FOUND, b"/metrics, /healthz or /readyz\n")

    def _fresh(self, accept: str) -> Answer:
        now = time.monotonic()
        made_at, answer = self._made.get(accept, (-FRESH_SECONDS, None))
        if answer is None or now - made_at >= FRESH_SECONDS:
            answer = Answer(HTTPStatus.OK, *self._metrics(accept))
            self._made[accept] = now, answer
        return answer


def _told(troubles: list[str]) -> Answer:
    text = "".join(f"{trouble}\n" for trouble in troubles or ["ok"])
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE if troubles else HTTPStatus.OK, text.encode())


class Clients:
    """Those who are connected, the oldest first."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._scopes: dict[anyio.CancelScope, None] = {}

    async def serve(self, client: SocketStream) -> None:
        """Answer one request and hang up."""
        scope = anyio.CancelScope(deadline=anyio.current_time() + CLIENT_SECONDS)
        self._scopes[scope] = None
        if len(self._scopes) > MOST_CLIENTS:
            next(iter(self._scopes)).cancel()
        try:
            async with client:
                with scope:
                    await self._converse(client)
        except GONE:
            return
        except Exception:
            log.exception("a request for metrics or health was not answered")
        finally:
            self._scopes.pop(scope, None)

    async def _converse(self, client: SocketStream) -> None:
        asked = await BufferedByteReceiveStream(client).receive_until(b"\r\n\r\n", MOST_REQUEST_BYTES)
        first, *headers = asked.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        accept = next((h.split(":", 1)[1] for h in headers if h.lower().startswith("accept:")), "")
        answer = self._site.answer(method, rest.partition(" ")[0], accept)
        head = (
            f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
            f"Content-Type: {answer.content_type}\r\nContent-Length: {len(answer.body)}\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        await client.send(head.encode() + (b"" if method == "HEAD" else answer.body))
        await client.send_eof()


@contextmanager
def serving(config: Config, component: str) -> Generator[Address | None]:
    """Serve this process as one component; where, or None when telemetry.listen is off.

    Raises ConfigError where it cannot listen there.
    """
    settings = listening.settings(config)
    if settings.listen == "off":
        yield None
        return
    from mentor_stream.metrics.exposition import Exposition

    exposition = Exposition(config.run.name, component, READINGS, HEALTH)
    with listen(settings.listen, Site(HEALTH, exposition.text)) as bound:
        if listening.parse(settings.listen).port:
            yield bound
            return
        with listening.announced(config, component, bound):
            yield bound


@contextmanager
def listen(setting: str, site: Site) -> Generator[Address]:
    """Serve a site at this setting's address in a thread; the address with its real port."""
    host, port = listening.parse(setting)
    with start_blocking_portal("trio") as portal:
        try:
            listener = portal.call(_bind, host, port)
        except OSError as error:
            raise ConfigError(
                f"telemetry.listen is {setting!r}: {error.strerror or error}. Give an address of this "
                'machine and a port that nobody has, port 0 for any, or "off"'
            ) from error
        serving = portal.start_task_soon(_serve, listener, Clients(site))
        try:
            yield Address(host, listener.extra(SocketAttribute.local_port))  # noqa: S610
        finally:
            serving.cancel()


async def _bind(host: str, port: int) -> MultiListener[SocketStream]:
    return await anyio.create_tcp_listener(local_host=host, local_port=port, backlog=BACKLOG)


async def _serve(bound: MultiListener[SocketStream], clients: Clients) -> None:
    async with bound, anyio.create_task_group() as tasks:
        for listener in bound.listeners:
            assert isinstance(listener, SocketListener)
            tasks.start_soon(_accept, listener, clients, tasks)


async def _accept(listener: SocketListener, clients: Clients, tasks: TaskGroup) -> None:
    while True:
        try:
            tasks.start_soon(clients.serve, await listener.accept())
        except OSError as error:  # no descriptor is left, for one
            log.warning("metrics and health: %s", error)
            await anyio.sleep(CLIENT_SECONDS)
        await anyio.sleep(1 / MOST_A_SECOND)
