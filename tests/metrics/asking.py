"""Asking a component for its metrics and health, as a scraper or a probe does."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

DEADLINE = 60.0
T = TypeVar("T")


class Reply(NamedTuple):
    status: int
    body: str
    content_type: str


def ask(address: str, path: str, *, accept: str = "*/*", method: str = "GET") -> Reply:
    """The answer to one request."""
    request = urllib.request.Request(f"http://{address}{path}", headers={"Accept": accept}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return Reply(response.status, response.read().decode(), response.headers["Content-Type"])
    except urllib.error.HTTPError as error:
        return Reply(error.code, error.read().decode(), error.headers["Content-Type"])


def address_of(run_directory: Path, component: str) -> str:
    """Where a component of a run serves, waited for."""
    found = until(lambda: list((run_directory / "telemetry").glob(f"{component}.*.json")))
    (group,) = json.loads(found[0].read_text())
    (target,) = group["targets"]
    return target


def until(look: Callable[[], T]) -> T:
    """What `look` returns as soon as it is anything."""
    deadline = time.monotonic() + DEADLINE
    while not (found := look()):
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.02)
    return found
