"""What `mentor-stream monitor` does, as it finds it by entry point (mentor_stream/tools.py)."""

import logging
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio

from consumers.monitor.board import Board
from consumers.monitor.watching import Watching
from mentor_stream import process
from mentor_stream.config import ConfigError, RunConfig

TOKEN = "MENTOR_STREAM_MONITOR_TOKEN"  # noqa: S105
"""The variable that holds a token, which browsers and programs then have to show."""
SLOW_CLIENT_MILLISECONDS = 10_000
"""A client that takes nothing for so long is cut off."""


def figures(run: RunConfig) -> dict[str, Any]:
    """Everything the page would begin with, once. Raises BrokerError."""
    board = Board(run)
    anyio.run(Watching(run.broker, board).catch_up, backend="trio")
    return board.document()


def serve(run: RunConfig, host: str, port: int, names: Sequence[str], ready: Callable[[str], None]) -> None:
    """Serve the page until asked to stop; `ready` is given its address. Raises ConfigError."""
    process.serve(partial(_serve, run, host, port, names, ready))


async def _serve(
    run: RunConfig, host: str, port: int, names: Sequence[str], ready: Callable[[str], None]
) -> None:
    try:
        from hypercorn.config import Config as ServerConfig
        from hypercorn.trio import serve as serve_http

        from consumers.monitor.live import Live
        from consumers.monitor.web import Site, application
    except ImportError as error:
        raise ConfigError(f"{error}: the monitor needs pip install 'mentor-stream[monitor]'") from error

    board = Board(run)
    watching = Watching(run.broker, board)
    known = [host, socket.gethostname(), *names]
    site = Site(board, watching, Live(board))
    app: Any = application(site, names=known, token=os.environ.get(TOKEN) or None)
    listener = _listener(host, port)
    address = _address(host, listener.getsockname()[1])
    settings = ServerConfig()
    settings.bind = [f"fd://{listener.detach()}"]
    settings.accesslog, settings.errorlog = None, logging.getLogger("hypercorn")
    settings.include_server_header = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watching.run)
        ready(address)
        await serve_http(app, settings, shutdown_trigger=anyio.sleep_forever)


def _listener(host: str, port: int) -> socket.socket:
    """Bound and listening. Raises ConfigError."""
    try:
        (family, kind, protocol, _, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SLOW_CLIENT_MILLISECONDS)
        listener.bind(place)
        listener.listen(100)
    except OSError as error:
        raise ConfigError(
            f"--host {host} --port {port}: {error.strerror}. Name another --host or --port."
        ) from error
    return listener


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
