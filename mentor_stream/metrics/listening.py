"""Where a component serves its metrics, and how Prometheus finds it."""

import json
import logging
import os
import re
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic import Field, field_validator

from mentor_stream.config import Config, Section

log = logging.getLogger(__name__)

LISTEN = "MENTOR_STREAM__TELEMETRY__LISTEN"
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104


class TelemetryConfig(Section):
    """Section [telemetry]: /metrics, /healthz and /readyz of every component."""

    table: ClassVar[str] = "telemetry"

    listen: str = "127.0.0.1:0"
    """HOST:PORT to serve on, or "off". Port 0 takes any free one, which a file in run.directory/telemetry
    names for Prometheus' file_sd_configs. `mentor-stream up` counts a fixed port up, one for each
    component."""
    stuck_after_seconds: float = Field(120.0, ge=1)
    """A component whose event loop does not turn for so long is not alive."""
    step_stuck_after_seconds: float = Field(3600.0, ge=1)
    """So is a trainer that does not come to an end of a step, a checkpoint or a snapshot, or of loading its
    model: more than the longest of them takes."""

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, listen: str) -> str:
        if listen != "off":
            parse(listen)
        return listen


class Address(NamedTuple):
    """An IP address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(listen: str) -> Address:
    """HOST:PORT. Raises ValueError."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})", listen, re.ASCII)
    if found is None or int(found[3]) > 65535:
        raise ValueError('expected HOST:PORT, such as "127.0.0.1:9464" or "[::1]:0", or "off"')
    return Address(found[1] or found[2], int(found[3]))


def settings(config: Config) -> TelemetryConfig:
    """The section, or its defaults where a config was read without."""
    found = config.sections.get(TelemetryConfig.table)
    return found if isinstance(found, TelemetryConfig) else TelemetryConfig.model_validate({})


def override(config: Config, place: int) -> dict[str, str]:
    """The environment of the component at this place (from 0) of several on one machine.

    A fixed port is counted up, since no two can have it.
    """
    listen = settings(config).listen
    if listen == "off" or parse(listen).port == 0:
        return {}
    host, port = parse(listen)
    return {LISTEN: str(Address(host, port + place))}


@contextmanager
def announced(config: Config, component: str, bound: Address) -> Generator[None]:
    """A file for Prometheus' file_sd_configs that names the address, as long as it is served.

    Where it cannot be written, on a disk that is full, the log names it: nobody's work depends on it.
    """
    path = config.run.directory / "telemetry" / f"{component}.{socket.gethostname()}.{os.getpid()}.json"
    seen = bound._replace(host=socket.gethostname()) if bound.host in ANYWHERE else bound
    targets = [{"targets": [str(seen)], "labels": {"run": config.run.name, "component": component}}]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead(path.parent)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(targets))
        draft.replace(path)  # Prometheus may read at any moment
    except OSError as error:
        log.warning("metrics are at %s, and Prometheus is not told: %s", seen, error)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _remove_dead(directory: Path) -> None:
    """Files that killed processes of this host have left behind."""
    for path in directory.glob(f"*.{socket.gethostname()}.*.json"):
        pid = path.suffixes[-2].removeprefix(".")
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)
