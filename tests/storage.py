"""A server of S3's kind on this machine, and what stands between it and us."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

BUCKET = "bucket"


@dataclass(frozen=True)
class Storage:
    """One bucket."""

    url: str
    """As `run.snapshots` names it; anew for every test."""
    environment: dict[str, str]
    """What a process needs to reach it."""
    files: Any
    """fsspec's view of it."""

    def keys(self) -> list[str]:
        """All objects under the URL, by their path below it."""
        root = self.url.removeprefix("s3://")
        return sorted(key.removeprefix(root + "/") for key in self.files.find(root))


@pytest.fixture(scope="session")
def s3() -> Iterator[tuple[str, int]]:
    """A real HTTP server that speaks S3 (moto); host and port."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def storage(
    s3: tuple[str, int], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Storage:
    """An empty place in it, known to this process and those it starts; with a cache of the test's own."""
    import fsspec

    home = tmp_path_factory.mktemp("storage")
    environment = access(s3[1]) | {"MENTOR_STREAM_CACHE": str(home / "cache")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    files = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    with suppress(FileExistsError):
        files.mkdir(BUCKET)
    return Storage(f"s3://{BUCKET}/{home.name}", environment, files)


def access(port: int) -> dict[str, str]:
    """The environment of who uses the store at this port."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-store",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


class Gate:
    """A port in front of the store, whose traffic can be held up, or cut off."""

    def __init__(self, port: int) -> None:
        self._store, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._away = False
        self.limit: int | None = None
        """Bytes that pass before the gate closes by itself, in either direction."""
        self.passed = 0
        self.closed = threading.Event()
        """Set when it closed by itself."""
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Let nothing through; connections stay."""
        self._open.clear()

    def let(self) -> None:
        """Let all through."""
        self.limit = None
        self._away = False
        self._open.set()

    def go_away(self) -> None:
        """Cut off whoever connects."""
        self._away = True

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self._away:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._store))
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(2**14):
                self.passed += len(data)
                if self.limit is not None and self.passed >= self.limit:
                    self._open.clear()
                    self.limit = None
                    self.closed.set()
                self._open.wait()
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)


@pytest.fixture
def gate(s3: tuple[str, int], storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """In front of the store for processes that are started from now on, and for us."""
    gate = Gate(s3[1])
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{gate.port}")
    storage.environment["AWS_ENDPOINT_URL"] = os.environ["AWS_ENDPOINT_URL"]
    return gate
