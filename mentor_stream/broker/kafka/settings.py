"""What a kafka:// URL and the environment say about a cluster and how to reach it.

    kafka://host:9092,other:9092?send_timeout=30&replication=3

Options, all with defaults: the fields of ConnectionSettings. Security: `security_protocol`, `sasl_mechanism`
and `ssl_cafile`, in the URL or as MENTOR_STREAM_KAFKA_SECURITY_PROTOCOL and so on. Secrets come from the
environment only: MENTOR_STREAM_KAFKA_USERNAME and MENTOR_STREAM_KAFKA_PASSWORD.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mentor_stream.broker.base import BrokerError

ENV_PREFIX = "MENTOR_STREAM_KAFKA_"
SECURITY = ("security_protocol", "sasl_mechanism", "ssl_cafile")
CREDENTIALS = {"username": "sasl_plain_username", "password": "sasl_plain_password"}
DEFAULT_PORT = 9092


@dataclass(frozen=True)
class ConnectionSettings:
    """How to reach a cluster. Times are in seconds."""

    servers: tuple[str, ...]
    """Brokers to ask first, `host:port`."""
    connect_timeout: float = 15.0
    """How long a cluster that does not answer is waited for, at the start and by each question to it."""
    send_timeout: float = 60.0
    """How long a message may wait for its acknowledgement; a broker's restart takes 10 to 30 s."""
    session_timeout: float = 10.0
    """A group member not heard of for so long loses its partitions (brokers allow 6 s to 30 min)."""
    replication: int = 1
    """The least number of replicas of topics we create."""
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """kafka-python's security options, credentials among them."""

    @property
    def url(self) -> str:
        """The cluster for error texts: no options, no secrets."""
        return f"kafka://{','.join(self.servers)}"

    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each server."""
        return [_address(server) for server in self.servers]

    def client_options(self) -> dict[str, Any]:
        """Options that every kafka-python client gets."""
        return {
            "bootstrap_servers": list(self.servers),
            "bootstrap_timeout_ms": _ms(self.connect_timeout),
            # its default of 30 s would leave us away that long after a broker's short restart
            "reconnect_backoff_max_ms": 1000,
            **self.security,
        }


_OPTIONS = tuple(f.name for f in fields(ConnectionSettings) if f.name not in ("servers", "security"))


def parse(url: str, environment: Mapping[str, str] = os.environ) -> ConnectionSettings:
    """The settings behind a kafka:// URL. Raises BrokerError naming the part that is wrong."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise BrokerError(
            f"run.broker holds credentials: set {ENV_PREFIX}USERNAME and {ENV_PREFIX}PASSWORD instead"
        )
    servers = tuple(filter(None, parts.netloc.split(",")))
    if not servers or parts.path not in ("", "/") or parts.fragment:
        raise BrokerError(f"run.broker is {url!r}: expected kafka://host:port,...[?option=value]")
    for server in servers:
        _address(server)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    security = {name: options.pop(name) for name in SECURITY if name in options}
    return ConnectionSettings(
        servers=servers,
        security=_from_environment(environment) | security,
        **{name: _number(name, value) for name, value in options.items()},
    )


def _address(server: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{server}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BrokerError(f"run.broker names the server {server!r}: {error}") from error
    if not host:
        raise BrokerError(f"run.broker names the server {server!r}: expected host:port")
    return host, port or DEFAULT_PORT


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = {name: name for name in SECURITY} | CREDENTIALS
    wanted = {option: environment.get(ENV_PREFIX + name.upper()) for name, option in names.items()}
    return {option: value for option, value in wanted.items() if value}


def _number(name: str, text: str) -> Any:
    if name not in _OPTIONS:
        raise BrokerError(
            f"run.broker has the option {name!r}: known are {', '.join((*_OPTIONS, *SECURITY))}"
        )
    whole = isinstance(getattr(ConnectionSettings, name), int)
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise BrokerError(f"run.broker has {name}={text}: expected a {'whole ' * whole}number above 0")
    return value


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
