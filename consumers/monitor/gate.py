"""Who is let in: by name of the host asked for, by token where one is set; and what every answer carries."""

import hmac
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "mentor-stream-monitor"
LONGEST_QUERY = 2_000
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Gate:
    """In front of the application. `names` are host names beside addresses and localhost that are ours."""

    def __init__(self, app: ASGIApp, *, names: Collection[str], token: str | None) -> None:
        self._app, self._names, self._token = app, frozenset(map(str.lower, names)), token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not is_ours(headers.get("host", ""), self._names):
            said = "This host name is not known here: start the monitor with --allow-host NAME to use it."
            return PlainTextResponse(said + "\n", 421)
        if len(scope["query_string"]) > LONGEST_QUERY:
            return PlainTextResponse(f"The query is longer than {LONGEST_QUERY} characters.\n", 414)
        if self._token is None or scope["path"] == "/healthz":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._is_token(given):
            welcome = RedirectResponse("/", 303)
            welcome.set_cookie(COOKIE, given, httponly=True, samesite="strict", path="/")
            return welcome
        if self._is_token(_cookie(headers)) or self._is_token(_bearer(headers)):
            return None
        said = "A token is needed: open /?token=TOKEN, or send it as Authorization: Bearer TOKEN."
        return PlainTextResponse(said + "\n", 401, headers={"www-authenticate": "Bearer"})

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def is_ours(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names us: an address, localhost, or one of `names`.

    A page of somebody else's can have its own name resolve to our address (DNS rebinding), and then read what
    we answer; that name stands here. An address cannot be taken over so.
    """
    name, port = host, ""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return False
        port = port[1:]
    elif ":" in host:
        name, _, port = host.rpartition(":")
    if port and not (port.isascii() and port.isdigit()):
        return False
    name = name.lower().removesuffix(".")
    return name == "localhost" or name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(headers: Headers) -> str:
    try:
        kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return kept.value if kept else ""


def _bearer(headers: Headers) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
